// <rnn-windows>: each window's tokens and states are those of a loop over h = tanh(W_ih x + b + W_hh h), a swap of two words
// marks the states that differ from those of the sentence as written, and a pressed cell is worked out.

const { Figure, assert, range } = require('../figure.js');

const words = ['the', 'cat', 'sat', 'on', 'the', 'mat'];
const vector_of = { the: [1, 0], cat: [0, 1], sat: [1, -1], on: [-1, 0], mat: [-1, 1] };
const W_ih = [[0.8, -0.4], [0.3, 0.7]], W_hh = [[0.6, -0.5], [0.5, 0.6]], b = [0.2, -0.1];

const product = (row, vector) => row.reduce((sum, weight, c) => sum + weight * vector[c], 0);
const step = (x, h) => b.map((bias, c) => Math.tanh(product(W_ih[c], x) + bias + product(W_hh[c], h)));

/// The states of the window of a text that ends at t, from before its first step on.
function states(text, t, window) {
  const all = [[0, 0]];
  for (let n = 1; n <= window; ++n) all.push(step(vector_of[text[t - window + n]] ?? [0, 0], all.at(-1)));
  return all;
}

const written = (value) => value.toFixed(2).replace(/^-(0\.00)$/, '$1').replace('-', '−');

/// The texts of all cells after so many steps, in rows: what is read, its state, and whether that changes.
function expected(text, window, taken) {
  const differs = (a, b) => a.some((value, c) => value !== b[c]);
  return text.map((_, t) => range(window).map((k) => {
    const n = k + 1, own = states(text, t, window)[n], word = text[t - window + n] ?? '0';
    if (n > taken) return word;
    return [word, ...own.map(written), ...differs(own, states(words, t, window)[n]) ? ['changes'] : []].join(' ');
  }));
}

const shown = (root) => root.locator('tbody tr').evaluateAll((lines) => lines.map((line) =>
  [...line.querySelectorAll('td')].map((cell) => [
    cell.firstChild.data, ...[...cell.querySelectorAll('small')].map(({ textContent }) => textContent),
    ...cell.classList.contains('changes') ? ['changes'] : [],
  ].join(' '))));

module.exports = async (page, root) => {
  const figure = new Figure(page, root), key = () => root.locator('.key').textContent();
  const shows = (text, window, taken) => figure.shows(expected(text, window, taken), () => shown(root));
  assert.deepEqual(await figure.values(), { s: '3', n: '2', t: '3', swapped: 'nothing' });
  await shows(words, 3, 2);
  for (const window of [1, 5, 4]) {
    await figure.slide('s', window);
    for (const taken of [0, 1, window]) {
      await figure.slide('n', taken);
      await shows(words, window, taken);
    }
  }
  // All steps of a window stay all steps of another one.
  await figure.slide('s', 3);
  await shows(words, 3, 3);
  const swapped = ['the', 'sat', 'cat', 'on', 'the', 'mat'];
  await figure.input('swapped').selectOption('cat sat');
  await shows(swapped, 3, 3);
  assert.match(await key(), /^In step 3, all 6 windows read at once, each its own token\. .* 4 of 6 outputs change \(≠\)\. 2 of these windows have read both words/);
  await figure.look('rnn windows swapped');
  await figure.slide('n', 1);
  await shows(swapped, 3, 1);
  assert.match(await key(), /2 of 6 states change \(≠\)\. No window has read both words\.$/);
  await root.locator('td[data-row="4"][data-column="2"]').click();
  await shows(swapped, 3, 2);
  const [before, after] = states(swapped, 4, 3).slice(1).map((h) => `(${h.map(written).join(', ')})`);
  assert.equal(await root.locator('.example-products').textContent(),
               `The window of “the” in step 2: h = cell(“on” (−1, 0), h before ${before}) = ${after}`);
  await figure.slide('t', 0);
  assert.match(await root.locator('.example-products').textContent(), /cell\(zeros, h before /);
};
