// The stills of relative.html: <beat-still name="ruler"> becomes a drawing when the book is made. All have the sentence
// in one place, so that page/beat_stage.js can put one into another's place.

const escape = require('markdown-it')().utils.escapeHtml;
const { by_distance, content_bias, distance_vector, factors, key, mean, position_bias, products, query, run, score,
        term, total, value, weights, words } = require('./relative_score.js');
const { appears, arc, bracket, cell, cell_width, comes, height, label, left, middle_of, rule, slides, span, step, still,
        text, width, written, x_of } = require('./still_parts.js');

const asks = words.length - 1;  // the query that the page follows: mat
const near = 4;                 // the key that it means: the second the
const piece = 3;                // the word that begins the second piece
const places = words.map((_, n) => n);
const asking = {
  q: { values: query(asks), name: `query ${asks}`, means: 'means-query' },
  u: { values: content_bias, name: 'u', means: 'means-content-bias' },
  v: { values: position_bias, name: 'v', means: 'means-position-bias' },
};
const terms = {
  a: { product: 'q·k', means: 'means-content-content', asks: 'does “mat” want this word?' },
  b: { product: 'q·r', means: 'means-content-position', asks: 'does “mat” want this distance?' },
  c: { product: 'u·k', means: 'means-content-bias', asks: 'does everyone want this word?' },
  d: { product: 'v·r', means: 'means-position-bias', asks: 'does everyone want this distance?' },
};

const rows = { begin: 46, step: 43, high: 40 };  // of the matrix
const row_y = (i) => rows.begin + rows.step * i;
const ruler = { step: 22, high: 19 };
const ruler_y = (i) => 40 + ruler.step * i;
const score_y = 43;  // of a row of scores below the sentence

const decimals = (value) => value.toFixed(2);
const is_the = (j) => words[j] === 'the';
const each = (columns, draw) => columns.map(draw).join('');

function sentence({ asking, remembered = 0 } = {}) {
  return each(places, (n) => {
    const means = n === asking ? 'means-query' : n < remembered ? 'means-memory' : '';
    const word = cell(x_of(n), 8, words[n], { kind: `word ${means}`, high: 26 });
    return n < remembered ? comes([-step * remembered, 0], word) : word;
  });
}

/// A vector, its numbers one below the other. Each is named by the vector and its place.
const vector = (x, values, name, { y = 60, step = 29, ...drawn }) => values.map((one, d) =>
  cell(x, y + step * d, written(one), { high: step - 3, number: `${name} ${d}`, ...drawn })).join('');
/// The vector that a product asks with, in small cells that end on the right.
function asking_vector(product, y) {
  const { values, name, means } = asking[product[0]], x = x_of(asks) + cell_width - 83;
  return text(x - 6, y + 8, product[0], { kind: `label math ${means}` }) + values.map((one, d) =>
    cell(x + 21 * d, y, written(one), { kind: `small ${means}`, high: 15, wide: 20, number: `${name} ${d}` })).join('');
}
const key_column = (j) => vector(x_of(j), key(j), `key ${j}`, { kind: `means-key ${is_the(j) ? 'strong' : ''}` });

/// The cells of a query and some keys that it may read, as dark as their weight.
const scores = (i, keys, y, high) => each(keys, (j) => cell(x_of(j), y, written(score(i, j)), {
  kind: 'means-query tinted', high, strength: weights(i)[j], number: `score ${i} ${j}`,
}));
const up_to = (i) => places.slice(0, i + 1);
const future = (i, y, high) => each(places.slice(i + 1), (j) => cell(x_of(j), y, '', { kind: 'future', high }));
const the_future = (column, y) => text(middle_of(column), y, 'the future', { kind: 'said' });
const subscript = (digit) => String.fromCodePoint('₀'.codePointAt(0) + digit);
const row_name = (i, y) => label(y, words[i], 'means-query');

const draw = {
  words: () => sentence() + label(73, 'key', 'means-key') +
    each(places, (j) => j === near ? comes([-step * near, 0], key_column(j), 1) : key_column(j)) +
    appears(8, bracket(0, near, 180) + text(middle_of(2), 208, 'the same key', { kind: 'said' })) +
    label(250, 'place') + each(places, (j) => text(middle_of(j), 250, written(j))),

  content: () => sentence({ asking: asks }) + text(23, 48, 'query', { kind: 'means-query' }) +
    comes([x_of(asks), 0], vector(4, query(asks), `query ${asks}`, { kind: 'means-query', wide: 38 })) +
    each(places, key_column) +
    label(202, terms.a.product, `math ${terms.a.means}`) +
    each(places, (j) => appears(4 + j, cell(x_of(j), 188, written(term('a', asks, j)),
      { kind: `${terms.a.means} ${is_the(j) ? 'strong' : ''}`, number: `a ${asks} ${j}` }))) +
    appears(11, bracket(0, near, 222) + text(middle_of(2), 250, 'the same product', { kind: 'said' })),

  arcs: () => sentence({ asking: asks }) + each(places.slice(0, asks), (j) => {
    const distance = asks - j, depth = 46 * distance, x = (middle_of(j) + middle_of(asks)) / 2;
    return appears(2 * distance, arc(asks, j, depth, is_the(j) ? 'strong' : '', is_the(j) ? 3 : 1.5) +
      cell(x - 14, 26 + depth, written(distance), { kind: 'means-distance', high: 24, wide: 28, number: `delta ${asks} ${j}` }));
  }),

  // The inner <svg> cuts off the marks to the left of the sentence.
  ruler: () => sentence() + each(places, (i) => future(i, ruler_y(i), ruler.high)) + the_future(3.5, ruler_y(1) + 10) +
    `<svg x="${left - 2}" y="38" width="${width - left + 2}" height="${height - 38}">` +
    each(places, (i) => slides([i && -step, i && -ruler.step], each(places, (delta) =>
      cell(x_of(i - delta) - left + 2, ruler_y(i) - 38, written(delta), {
        kind: `means-distance ${delta ? '' : 'strong'}`, high: ruler.high,
        number: delta <= i ? `delta ${i} ${i - delta}` : undefined,
      })), 4 * i)) + '</svg>' + each(places, (i) => row_name(i, ruler_y(i) + 10)) +
    appears(24, label(185, 'vector', 'means-distance')) + each(places, (delta) => appears(24 + delta,
      text(middle_of(asks - delta), 185, `r${subscript(delta)}`, { kind: 'means-distance' }) +
      vector(x_of(asks - delta), distance_vector(delta), `r ${delta}`, { kind: 'means-distance', y: 196, step: 27 }))),

  terms: () => sentence({ asking: asks }) + label(47, 'distance', 'means-distance') +
    each(places, (j) => text(middle_of(j), 47, written(asks - j), { kind: 'means-distance', number: `delta ${asks} ${j}` })) +
    Object.entries(terms).map(([name, { product, means, asks: question }], n) => {
      const y = 62 + 48 * n;
      return appears(4 * n, text(left, y + 4, question, { kind: `question ${means}` }) + asking_vector(product, y - 4) +
        label(y + 28, product, `math ${means}`) + each(places, (j) =>
        cell(x_of(j), y + 15, written(term(name, asks, j)), { kind: means, high: 26, number: `${name} ${asks} ${j}` })));
    }).join('') +
    appears(16, rule(259, asks) + label(273, 'sum ÷ √4') + label(287, 'score', 'means-query') +
      scores(asks, up_to(asks), 266, 28)),

  cells: () => sentence({ asking: asks }) + bracket(near, asks, 36) +
    text(left, 62, '“mat” asks the near “the”, at distance 1', { kind: 'question' }) +
    Object.entries(factors(asks, near)).map(([name, [one, other]], n) => {
      const y = 75 + 42 * n, { product, means } = terms[name];
      return label(y + 18, product, `math ${means}`) + products(one, other).map((value, d) =>
        appears(5 * n + d, cell(x_of(d), y, '', { kind: means, high: 37 }) +
          text(middle_of(d), y + 11, `${written(one[d])} · ${written(other[d])}`, { kind: 'factors' }) +
          text(middle_of(d), y + 26, written(value), { number: `product ${name} ${d}` }))).join('') +
        appears(5 * n + 4, cell(x_of(near), y, written(term(name, asks, near)),
          { kind: `strong ${means}`, high: 37, number: `${name} ${asks} ${near}` }));
    }).join('') +
    appears(20, rule(244, near) + text(x_of(near) - 8, 261, 'all four together', { kind: 'label' }) +
      cell(x_of(near), 249, written(total(asks, near)), { high: 24, number: `total ${asks} ${near}` })) +
    appears(23, text(x_of(near) - 8, 290, 'divided by √4: the score', { kind: 'label means-query' }) +
      cell(x_of(near), 277, written(score(asks, near)),
           { kind: 'strong means-query', high: 26, number: `score ${asks} ${near}` })),

  softmax: () => sentence({ asking: asks }) + label(57, 'score', 'means-query') + scores(asks, up_to(asks), score_y, 28) +
    label(185, 'weight') + each(places, (j) => {
      const weight = weights(asks)[j], tall = 200 * weight, top = 197 - tall;
      return `<rect class="bar grows" style="--turn: ${j}" x="${x_of(j)}" y="${top}" width="${cell_width}" height="${tall}"/>` +
        appears(j + 3, text(middle_of(j), top - 10, decimals(weight), { number: `weight ${asks} ${j}`, run: 0 }));
    }) + rule(197, asks) + appears(9, text(middle_of(2.5), 211, `together ${decimals(1)}`, { kind: 'said' })) +
    appears(10, each(places, (j) =>
      vector(x_of(j), value(j), `value ${j}`, { kind: 'means-value', y: 226, step: 27 })) +
      text(middle_of(2.5), 294, 'the values', { kind: 'said means-value' })) +
    appears(14, each(mean(asks), (x, d) => cell(3, 226 + 27 * d, decimals(x),
      { kind: 'means-value strong', high: 24, wide: 40, number: `mean ${asks} ${words.length + d}`, run: 0 })) +
      text(23, 294, 'mat gets', { kind: 'said means-value' })),

  matrix: () => sentence() + each(places, (i) => {
    const y = row_y(i), row = row_name(i, y + 20) + scores(i, up_to(i), y, rows.high) + future(i, y, rows.high);
    return i === asks ? comes([0, score_y - y], row) : appears(6 + asks - i, row);
  }) + appears(12, the_future(3.5, row_y(1) + 20)),

  // The numbers by distance, end to end, and cut again. Each flies from where it stood before.
  shift: () => {
    const count = words.length, by_distance_y = (i) => 16 + 17.5 * i, by_key_y = (i) => 191.5 + 17.5 * i;
    const line = { x: (n) => 2 + 9.9 * n, y: 143, wide: 8.7, high: 12 }, high = 17;
    const middle = { x: (n) => line.x(n) + line.wide / 2, y: line.y + line.high / 2 };
    const numbers = places.flatMap((i) => places.map((column) => ({ i, column, delta: count - 1 - column })));
    const kind = ({ i, delta }) => `${delta <= i ? 'of-row' : 'unused'} row-${i}`;
    const number = (one, column, y, more = '') => cell(x_of(column), y, written(by_distance(one.i, one.delta)),
      { kind: `${kind(one)} ${more}`, high, number: `distance ${one.i} ${one.delta}` });
    const cut = (from, length) => span(line.x(from), line.x(from + length - 1) + line.wide);
    const again = (n) => {  // the row and the column of number n in the second cut
      const row = Math.min(Math.floor(n / (count - 1)) - 1, asks);
      return [row, n - (count - 1) * (row + 1)];
    };
    return label(8, 'distance', 'means-distance') +
      each(places, (column) => text(middle_of(column), 8, written(asks - column), { kind: 'means-distance' })) +
      each(places, (i) => row_name(i, by_distance_y(i) + 9)) +
      each(numbers, (one) => number(one, one.column, by_distance_y(one.i))) +
      text(width / 2, 128.5, 'one line of 36, cut after every 6', { kind: 'said' }) +
      each(places, (i) => cut(count * i, count)(141, -4)) +
      each(numbers, (one, n) => slides(
        [middle_of(one.column) - middle.x(n), by_distance_y(one.i) + high / 2 - middle.y],
        cell(line.x(n), line.y, '', { kind: `thin ${kind(one)}`, ...line }), one.i)) +
      appears(8, text(width / 2, 169, 'without the first 5, cut after every 5; the last row keeps 6', { kind: 'said' }) +
        each(places, (row) => cut((count - 1) * (row + 1), row === asks ? count : count - 1)(157, 4))) +
      label(184, 'key', 'means-key') + each(places, (j) => text(middle_of(j), 184, words[j], { kind: 'means-key' })) +
      each(places, (i) => row_name(i, by_key_y(i) + 9) + future(i, by_key_y(i), high)) +
      each(numbers.slice(asks), (one, n) => {
        const [row, j] = again(n + asks), y = by_key_y(row);
        return slides([middle.x(n + asks) - middle_of(j), middle.y - y - high / 2],
                      number(one, j, y, one.i > row ? 'hidden' : ''), 10 + row);
      });
  },

  memory: () => {
    const from_left = (drawn) => comes([-step * piece, 0], drawn);
    const nothing = `<rect class="remembered" x="${left}" y="${row_y(0)}" width="${step * piece - 3}" ` +
      `height="${rows.step * piece - 3}"/>`;
    return sentence({ remembered: piece }) +
      from_left(nothing + text(middle_of(1), row_y(1) + 12, 'memory', { kind: 'means-memory' }) +
        text(middle_of(1), row_y(1) + 30, 'asks nothing', { kind: 'said' })) +
      each(places.slice(piece), (i) => {
        const y = row_y(i), keys = up_to(i);
        return row_name(i, y + 20) + from_left(scores(i, keys.slice(0, piece), y, rows.high)) +
          scores(i, keys.slice(piece), y, rows.high) + future(i, y, rows.high);
      });
  },

  whole: () => {
    const weights_of = (y, run) => each(places, (j) => cell(x_of(j), y, decimals(weights(asks)[j]), {
      kind: 'means-query tinted', strength: weights(asks)[j], number: `weight ${asks} ${j}`, run,
    }));
    const products = Object.values(terms).map(({ product, means }) => `<tspan class="math ${means}">${product}</tspan>`);
    return sentence({ asking: asks }) +
      each(places.slice(0, asks), (j) =>
        appears(asks - j, arc(asks, j, 24 * (asks - j), 'weighs', decimals(1 + 18 * weights(asks)[j])))) +
      label(184, 'at once') + weights_of(170, 0) +
      appears(8, label(218, 'memory', 'means-memory') + weights_of(204, 1)) +
      `<text class="formula" x="${width / 2}" y="268">score = (${products.join(' + ')}) / √<tspan class="math">D</tspan></text>`;
  },
};

const list = (values) => values.map(written).join(', ');

/// What a still shows, for those who do not see it.
const descriptions = {
  words: `Six words with a key of four numbers each. Both “the” have the key ${list(key(0))}.`,
  content: `The query of mat is ${list(query(asks))}. Its products with the keys are ${list(places.map((j) => term('a', asks, j)))}.`,
  arcs: 'Arcs lead from mat back to each word, at the distances 1 to 5.',
  ruler: 'Six rulers, one below the other. The 0 of each is below its query, and distances grow to the left. ' +
    `Below is the vector of each distance, of 0 ${list(distance_vector(0))}. ` +
    'The third number is less by 0.5 for each word further back.',
  terms: `Four terms for each word. The biases are u, ${list(content_bias)}, and v, ${list(position_bias)}. ` +
    `Half their sums are the scores of mat, ${list(places.map((j) => score(asks, j)))}.`,
  cells: `The products of four terms, which sum to ${list(Object.keys(terms).map((name) => term(name, asks, near)))}. ` +
    `Together they are ${total(asks, near)}; half of it is the score.`,
  softmax: `Bars for the weights of the six words, ${weights(asks).map(decimals).join(', ')}. ` +
    `Below are the values of the words, and their mean with these weights, ${mean(asks).map(decimals).join(', ')}.`,
  matrix: 'The scores as a matrix, a row for each query. Later keys have none.',
  shift: 'The same numbers three times: with a column for each distance, in one line, and cut again, with a column for ' +
    'each key.',
  memory: 'The rows of on, the and mat in the matrix before. Three words on the left are memory.',
  whole: 'The weights of mat, in one pass and behind a memory, are equal. Below is the formula of the score.',
};

function drawn(name) {
  if (!Object.hasOwn(draw, name)) throw new Error(`beat ${name}, expected one of ${Object.keys(draw).join(', ')}`);
  return still(descriptions[name], draw[name]());
}

/// Draws the stills in the HTML of a chapter, numbers their texts, and tells the stage what to ask the library.
function with_beats(html) {
  if (!html.includes('<beat-stage')) return html;
  let beat = 0;
  return html.replace(/<beat-still name="([^"]*)"><\/beat-still>/g, (_, name) => drawn(name))
    .replace(/<section/g, () => `<section style="--beat: ${++beat}"`)
    .replace('<beat-stage', `<beat-stage runs="${escape(JSON.stringify([run(0), run(piece)]))}"`);
}

module.exports = { with_beats };
