// <clipped-distances>: a key reads the vector of its clipped distance, the number is the query's product with that vector,
// keys that share a vector share the number, and as many lines go to a vector as it has keys.

const { Figure, assert, below, range } = require('../figure.js');

const T = 8;
const numbers = (text) => text.replaceAll('−', '-').match(/-?\d+/g).map(Number);

/// What a column has in its lines: names, what is said there, and numbers.
const column = (root, name) => root.locator(`.${name} > div`).evaluateAll((lines) =>
  lines.map((line) => [...line.children].map(({ textContent }) => textContent).concat(line.style.getPropertyValue('--row'))));

const shown = async (root) => ({
  query: numbers((await root.locator('.asks').textContent()).split('=')[1]), keys: await column(root, 'keys'), vectors: await column(root, 'vectors'),
  lines: await root.locator('path').evaluateAll((all) => all.map((one) => `${one.getAttribute('d')} ${one.style.getPropertyValue('--row')}`)),
  said: await root.locator('.key').textContent(),
});

/// Compares all of it with clip(-δ, -m, m) + m and with products of the vectors that are written there.
async function check(figure) {
  const [m, i] = [await figure.number('m'), await figure.number('i')], ahead = await figure.input('ahead').isChecked();
  const rows = range(T).map((j) => Math.max(-m, Math.min(m, j - i)) + m), sees = rows.map((_, j) => ahead || j <= i);
  const far = (j) => i === j ? 'itself' : `${Math.abs(i - j)} ${j < i ? 'back' : 'ahead'}`;
  // The picture of the sizes comes first, then its numbers say whether they belong together.
  await figure.shows([2 * m + 1, range(T).map(far), sees], async () => {
    const { keys, vectors } = await shown(figure.root);
    return [vectors.length, keys.map(([, said]) => said), keys.map(([, , number]) => number !== '')];
  });
  const { query, keys, vectors, lines, said } = await shown(figure.root);
  const product = (vector) => String(numbers(vector).reduce((sum, value, d) => sum + value * query[d], 0)).replace('-', '−');
  const read_by = vectors.map((_, row) => range(T).filter((j) => rows[j] === row && sees[j]));
  const color = (row) => `var(--cell-${row})`;
  for (const [row, [name, vector, number, own]] of vectors.entries())
    assert.deepEqual([name, number, own], [`a${below(row)}`, ...read_by[row].length ? [product(vector), color(row)] : ['', '']]);
  for (const [j, [name, , number, own]] of keys.entries())
    assert.deepEqual([name, number, own], [`k${below(j)}`, ...sees[j] ? [product(vectors[rows[j]][1]), color(rows[j])] : ['', '']]);
  const at = (n, count) => 100 * (n + 0.5) / count;
  assert.deepEqual(lines, range(T).filter((j) => sees[j]).map((j) => {
    const [from, to] = [at(j, T), at(rows[j], 2 * m + 1)];
    return `M0 ${from}C50 ${from} 50 ${to} 100 ${to} ${color(rows[j])}`;
  }));
  for (const [row, keys] of read_by.entries()) {
    const has = (text) => said.includes(text);
    assert.equal(has(`share a${below(row)},`), keys.length > 1, said);
    if (keys.length > 1) assert(has(`k${below(keys.at(-1))} share a${below(row)}, and the product q${below(i)}·a${below(row)} = ${vectors[row][2]},`), said);
  }
  assert.equal(said.includes('No two keys share'), read_by.every((keys) => keys.length < 2), said);
  assert.equal(said.includes('reads no key through'), read_by.some((keys) => !keys.length), said);
}

module.exports = async (page, root) => {
  const figure = new Figure(page, root);
  for (const ahead of [false, true]) {
    if (ahead) await figure.input('ahead').press('Space');
    for (const m of [2, 0, 4, 1]) {
      await figure.slide('m', m);
      for (const i of [T - 1, 0, 3]) {
        await figure.slide('i', i);
        await check(figure);
      }
      await figure.look(`clipped at ${m} ${ahead ? 'both ways' : 'causal'}`);
    }
  }
};
