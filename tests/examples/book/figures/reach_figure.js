// <reach-figure>: each layer sees one memory further back, and without a memory nobody sees beyond its segment.

const { Figure, assert, is_open, range } = require('../figure.js');

const segments = 6;

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
};
