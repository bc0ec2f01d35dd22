// Compares the numbers of relative.html, which the book computes when it is made, with those of the library: each term
// of the score alone, all together, behind a memory, and moved by rel_shift. <sentence-score> shows the same numbers.
//
//     node tests/examples/book/beats.js PROGRAM ARGUMENT…
//
// The program answers requests as `study` does.

const assert = require('node:assert/strict');
const path = require('node:path');
const { ask } = require('./asking.js');
const relative_score = path.resolve(__dirname, '../../../examples/book/make/relative_score.js');
const { by_distance, key, layer_of_sentence, mean, query, run, score, term, value, weights, words } = require(relative_score);

const T = words.length;
const most_error = 2e-6;  // of a weight
const zeros = ({ shape, values }) => ({ shape, values: values.map(() => 0) });

/// A run in one pass without what makes other terms.
function without(...parts) {
  const request = run(0), { tensors } = request;
  const third = tensors['param.qkv.weight'].values.length / 3;
  for (const part of parts)
    if (part === 'query') tensors['param.qkv.weight'].values.fill(0, 0, third);
    else if (part === 'key') tensors['param.qkv.weight'].values.fill(0, third, 2 * third);
    else tensors[`param.${part}`] = zeros(tensors[`param.${part}`]);
  return request;
}

const alone = {
  a: without('content_bias', 'position_bias', 'position.weight'),
  b: without('content_bias', 'position_bias', 'key'),
  c: without('query', 'position_bias', 'position.weight'),
  d: without('query', 'content_bias', 'key'),
};
const range = (count) => Array.from({ length: count }, (_, n) => n);
const by_distance_rows = { shape: [T, T], values: range(T * T).map((n) => by_distance(Math.floor(n / T), T - 1 - n % T)) };
const shift = { do: 'run_layer', layer: 'rel_shift', config: {}, tensors: { 'input.x': by_distance_rows, grad_output: by_distance_rows } };
const { config, tensors } = layer_of_sentence();
const sentence = { do: 'worked_example', layer: 'transformer_xl_attention', config, tensors };
const answers = ask(process.argv.slice(2), [...Object.values(alone), run(0), run(3), shift, sentence]);

function output(answer) {
  assert.equal(answer.error, undefined);
  return answer.tensors.output;
}

/// The weights that scores give query i.
function softmax(i, score_of) {
  const powers = range(i + 1).map((j) => Math.exp(score_of(i, j)));
  const sum = powers.reduce((a, b) => a + b);
  return powers.map((power) => power / sum);
}

/// Row n of the library's output has the weights of query M + n, and 0 for what it may not read.
function expect_weights(answer, M, score_of, what) {
  const { shape: [, rows, channels], values } = output(answer);
  assert.equal(rows, T - M, what);
  for (const n of range(rows)) {
    const expected = softmax(M + n, score_of);
    for (const j of range(T)) {
      const found = values[n * channels + j];
      assert.ok(Math.abs(found - (expected[j] ?? 0)) < most_error, `${what}, ${M + n} ${j}: ${found}, expected ${expected[j] ?? 0}`);
    }
  }
}

/// The score as a loop over what the library is given, which sees what a softmax does not: a number that all keys share.
function given_score({ tensors }, i, j) {
  const D = 4, C = tensors['input.x'].shape[2], rows = 2 * D;  // of a part for two heads
  const row = (name, n) => tensors[name].values.slice(n * C, (n + 1) * C);
  const product = (a, b) => a.reduce((sum, value, n) => sum + value * b[n], 0);
  const sinusoid = range(C).map((c) => {
    const angle = (i - j) * 10000 ** (-2 * (c % (C / 2)) / C);
    return c < C / 2 ? Math.sin(angle) : Math.cos(angle);
  });
  let sum = 0;
  for (const d of range(D)) {
    const q = product(row('param.qkv.weight', d), row('input.x', i));
    const k = product(row('param.qkv.weight', rows + d), row('input.x', j));
    const r = product(row('param.position.weight', d), sinusoid);
    sum += (q + tensors['param.content_bias'].values[d]) * k + (q + tensors['param.position_bias'].values[d]) * r;
  }
  return sum / Math.sqrt(D);
}

const root = 2;  // of D = 4
/// Row n of the library's output has, behind the weights, the mean of values.
function expect_means(answer, M) {
  const { shape: [, rows, channels], values } = output(answer);
  for (const n of range(rows))
    mean(M + n).forEach((expected, d) => {  // of values up to 3
      const found = values[n * channels + T + d];
      assert.ok(Math.abs(found - expected) < 3 * most_error, `mean ${M + n} ${d}: ${found}, expected ${expected}`);
    });
}

for (const name of Object.keys(alone)) expect_weights(answers.shift(), 0, (i, j) => term(name, i, j) / root, `(${name})`);
const four = (i, j) => [...'abcd'].reduce((sum, name) => sum + term(name, i, j), 0) / root;
for (const M of [0, 3]) {
  const answer = answers.shift();
  expect_weights(answer, M, four, `a memory of ${M}`);
  expect_means(answer, M);
}

const shifted = output(answers.shift()).values;
for (const i of range(T))
  for (const j of range(i + 1)) {
    assert.equal(score(i, j), four(i, j), `score ${i} ${j}`);
    const given = given_score(run(0), i, j);
    assert.ok(Math.abs(score(i, j) - given) < 1e-4, `score ${i} ${j}: ${score(i, j)}, expected ${given}`);
    assert.equal(by_distance(i, i - j), term('b', i, j) + term('d', i, j), `by distance ${i} ${j}`);
    assert.equal(shifted[i * T + j], by_distance(i, i - j), `shifted ${i} ${j}`);
    assert.equal(weights(i)[j], softmax(i, four)[j], `weight ${i} ${j}`);
  }

/// Expects a table to have these values; both are rounded to what a figure shows.
function expect_table({ name, rows, columns, values }, value_at) {
  assert.equal(values.length, rows.length * columns.length, name);
  values.forEach((found, n) => {
    const [row, column] = [Math.floor(n / columns.length), n % columns.length], expected = value_at(row, column);
    if (expected !== undefined) assert.ok(Math.abs(found - expected) < 1e-5, `${name} ${row} ${column}: ${found}, expected ${expected}`);
  });
}

const { tables } = answers.shift(), seen = (value_at) => (i, j) => j <= i ? value_at(i, j) : undefined;
const expected = {
  q: (i, d) => query(i)[d], k: (j, d) => key(j)[d], v: (j, d) => value(j)[d] ?? 0, δ: (i, j) => i - j,
  'q·k': seen((i, j) => term('a', i, j)), 'q·r': seen((i, j) => term('b', i, j)), 'u·k': seen((i, j) => term('c', i, j)),
  'v·r': seen((i, j) => term('d', i, j)), score: seen(score), p: (i, j) => weights(i)[j] ?? 0, y: (i, d) => mean(i)[d] ?? 0,
};
for (const [name, value_at] of Object.entries(expected)) {
  const table = tables.find((one) => one.name === name);
  assert.ok(table, `there is no table ${name}`);
  expect_table(table, value_at);
}
console.log(`${words.length} words: the library's scores`);
