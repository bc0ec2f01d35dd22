// The numbers of the page relative.html: one sentence, and Transformer-XL's score of its words (Dai et al. 2019,
// section 3.3),
//
//     score_ij = (q_i·k_j + q_i·r_δ + u·k_j + v·r_δ) / √D,   δ = i - j
//
// The vectors are chosen so that a reader can follow each product in the head, and the mean from weights of two digits.
// `run` asks the library for the same.

const D = 4;
const words = ['the', 'cat', 'sat', 'on', 'the', 'mat'];
const query_of = { the: [1, 2, 1, -1], cat: [2, 2, 3, 2], sat: [0, 2, 1, 2], on: [0, 0, 1, 1], mat: [2, 0, 1, 1] };
const key_of = { the: [2, 1, 0, 1], cat: [0, 2, 0, 1], sat: [0, 0, 2, 2], on: [1, 2, 0, 1], mat: [0, 1, 1, 0] };
const value_of = { the: [3, 0], cat: [1, 2], sat: [2, 1], on: [0, 3], mat: [1, 1] };
const content_bias = [0, 1, 0, 1], position_bias = [0, 1, 1, 0];

const query = (i) => query_of[words[i]], key = (j) => key_of[words[j]], value = (j) => value_of[words[j]];
const distance_vector = (delta) => [1, 0, 2 - delta / 2, -1];

const sum = (values) => values.reduce((a, b) => a + b, 0);
const products = (a, b) => a.map((value, d) => value * b[d]);

/// The two vectors whose dot product each term of a pair is.
const factors = (i, j) => ({
  a: [query(i), key(j)],
  b: [query(i), distance_vector(i - j)],
  c: [content_bias, key(j)],
  d: [position_bias, distance_vector(i - j)],
});

const term = (name, i, j) => sum(products(...factors(i, j)[name]));
const total = (i, j) => sum([...'abcd'].map((name) => term(name, i, j)));
const score = (i, j) => total(i, j) / Math.sqrt(D);

/// What query i says about a distance, whether a word stands there or not: the terms b and d.
const by_distance = (i, delta) => sum(products(query(i), distance_vector(delta))) +
  sum(products(position_bias, distance_vector(delta)));

/// The softmax of query i's scores over itself and the words before it.
function weights(i) {
  const powers = words.slice(0, i + 1).map((_, j) => Math.exp(score(i, j)));
  return powers.map((power) => power / sum(powers));
}

/// What query i gets: the mean of values with its weights.
const mean = (i) => value(i).map((_, d) => sum(weights(i).map((weight, j) => weight * value(j)[d])));

const tensor = (rows) => ({ shape: [rows.length, rows[0].length], values: rows.flat() });
const table = (rows, columns, value) => tensor(Array.from({ length: rows }, (_, row) =>
  Array.from({ length: columns }, (_, column) => value(row, column))));

const different = [...new Set(words)];

/// The tensors of a layer whose input has a channel for each word that differs and one for each place. `value` says
/// what a channel of the input gives to one of the values.
function tensors({ heads, channels, value: given }) {
  const half = channels / 2, slowest = 10000 ** (-2 * (half - 1) / channels);
  const from_words = (vectors) => (row, column) => vectors[different[column]]?.[row % D] ?? 0;
  const parts = [from_words(query_of), from_words(key_of), given];
  // r_δ is a line in δ. The slowest sinusoids make it: sin(δf) / f is δ and cos(δf) is 1, but for a millionth.
  const [begin, next] = [distance_vector(0), distance_vector(1)];
  const line = (row, column) => column === half - 1 ? (next[row % D] - begin[row % D]) / slowest
    : column === channels - 1 ? begin[row % D] : 0;
  const bias = (vector) => table(heads, D, (_, d) => vector[d]);
  const inputs = words.map((word, n) => Array.from({ length: channels }, (_, c) =>
    Number(c === different.indexOf(word) || c === different.length + n)));
  return {
    'param.qkv.weight': table(3 * heads * D, channels, (row, column) =>
      parts[Math.floor(row / (heads * D))](row % (heads * D), column)),
    'param.position.weight': table(heads * D, channels, line),
    'param.content_bias': bias(content_bias), 'param.position_bias': bias(position_bias),
    'param.output.weight': table(channels, heads * D, (row, column) => Number(row === column)),
    'input.x': { shape: [1, words.length, channels], values: inputs.flat() },
  };
}

/// The inputs of a layer that reads the words behind a memory of the first M.
function split({ 'input.x': { shape: [, length, channels], values }, ...others }, M) {
  const part = (begin, end) => ({ shape: [1, end - begin, channels], values: values.slice(begin * channels, end * channels) });
  return { ...others, 'input.x': part(M, length), ...M > 0 ? { 'input.memory': part(0, M) } : {} };
}

/// A request to the library: its layer reads the words behind a memory of the first M. Two equal heads of D channels
/// have room for a word's place and its value, so that the output of a query is its weights, and then its mean.
function run(M) {
  const heads = 2, channels = different.length + words.length + 1;
  const value = (row, column) => row < words.length ? Number(column === different.length + row)
    : value_of[different[column]]?.[row - words.length] ?? 0;
  const given = split(tensors({ heads, channels, value }), M);
  return {
    do: 'run_layer', layer: 'transformer_xl_attention', config: { d_model: channels, n_head: heads, d_head: D },
    tensors: { ...given, grad_output: given['input.x'] },
  };
}

/// The layer of <sentence-score>, which asks the library for each array in it: one head, whose values have two numbers
/// that are not 0. In so many channels the line of r_δ is one to a ten-millionth.
function layer_of_sentence() {
  const channels = 36, value = (row, column) => value_of[different[column]]?.[row] ?? 0;
  return { words, config: { d_model: channels, n_head: 1, d_head: D }, tensors: tensors({ heads: 1, channels, value }) };
}

module.exports = {
  by_distance, content_bias, distance_vector, factors, key, layer_of_sentence, mean, position_bias, products, query, run, score, term, total,
  value, weights, words,
};
