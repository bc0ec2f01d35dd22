// <reach-figure>: each layer sees one memory further back, and without a memory nobody sees beyond its segment.

const { Figure, assert, is_open, range } = require('../figure.js');

const segments = 6;

/// Before the layers the state of a token moves by the difference of two letters' embeddings, and no other one moves.
/// After them there is a number wherever a token is seen.
async function check_numbers(figure) {
  for (const [name, value] of [['layers', 1], ['t', 2], ['m', 2], ['token', 5]]) await figure.slide(name, value);
  await figure.input('numbers').press('Space');
  const far = await figure.page.evaluate(async () => {
    const { random_numbers } = await import('book/numbers.js');
    const C = 8, rows = random_numbers(3)([C, C]).values, letter = random_numbers(4)([6]).values[5] > 0 ? 1 : 0;
    return Math.max(...rows.slice(0, C).map((_, c) => Math.abs(rows[letter * C + c] - rows[(letter + 2) * C + c])));
  });
  const text = far < 0.995 ? far.toFixed(2).slice(1) : far.toFixed(1);
  // Other sizes may give the same last row, so both rows are waited for.
  const is_number = (text) => /^(<?\.\d\d|\d\.\d)$/.test(text);
  await figure.shows([range(12).map((n) => n >= 2 && n <= 5), range(12).map((n) => n === 5 ? text : '')], async () => {
    const [after, before] = await figure.rows(({ text }) => text);
    return [after.map(is_number), before];
  });
  await figure.look('reach numbers');
  await figure.input('numbers').press('Space');
  await figure.shows(range(12).map((n) => n === 5 ? '●' : ''), async () => (await figure.rows(({ text }) => text))[1]);
}

module.exports = async (page, root) => {
  const figure = new Figure(page, root);
  const all = [[3, 4, 4], [1, 4, 4], [4, 2, 2], [2, 4, 0], [2, 3, 6], [1, 1, 0]];
  for (const [layers, T, M] of figure.is_in('memory') ? all : [[2, 4, 0]]) {
    await figure.slide('layers', layers);
    await figure.slide('t', T);
    await figure.slide('m', M);
    const tokens = segments * T;
    await figure.shows(layers + 1, async () => (await figure.rows(() => 0)).length);
    await figure.shows(tokens, async () => (await figure.rows(() => 0))[0].length);
    for (const token of new Set([0, 2 * T, tokens - 1])) {
      await figure.slide('token', token);
      // M is whole segments here, so the oldest token of a memory is the first of its segment.
      const first = (layer) => layer === 0 ? token : Math.max(0, token - token % T - layer * M);
      await figure.shows(range(layers + 1).map((row) =>
        range(tokens).map((column) => first(layers - row) <= column && column <= token)), () => figure.rows(is_open));
      const words = `After ${layers} layer${layers > 1 ? 's' : ''}, token ${token} sees ${token - first(layers)} tokens back.`;
      assert.equal(await root.locator('.key').textContent(), words);
    }
    await figure.look(`reach ${layers} ${T} ${M}`);
  }
  if (figure.is_in('memory')) await check_numbers(figure);
};
