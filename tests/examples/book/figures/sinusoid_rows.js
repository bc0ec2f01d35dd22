// <sinusoid-rows>: the map and the waves have the sines and cosines of the chapter's formula, for each number of
// channels.

const { Figure, assert } = require('../figure.js');

const places = 64;

module.exports = async (page, root) => {
  const figure = new Figure(page, root);
  const map = async () => JSON.parse(await root.locator('.all metadata').textContent());
  for (const C of [8, 32, 16]) {
    await figure.input('channels').selectOption(String(C));
    await figure.shows([places, C * places], async () => [(await map()).columns, (await map()).values.length]);
    const { values, limit } = await map();
    for (let c = 0; c < C; ++c)
      for (let place = 0; place < places; ++place) {
        const angle = place * 10000 ** (-2 * (c % (C / 2)) / C);
        const expected = c < C / 2 ? Math.sin(angle) : Math.cos(angle);
        const found = values[c * places + place] * limit / 1000;
        assert.ok(Math.abs(found - expected) < 1e-3, `${c} of ${C} at ${place}: ${found}, expected ${expected}`);
      }
  }
  for (const pair of [0, 7]) {
    await figure.slide('pair', pair);
    await figure.shows(`Pair ${pair}`, () => root.locator('.waves .title').textContent());
    const ends = await root.locator('.waves metadata').evaluate((one) =>
      JSON.parse(one.textContent).curves.map(({ name, ys }) => [name, ys.at(-1)]));
    const angle = (places - 1) * 10000 ** (-2 * pair / 16);
    assert.deepEqual(ends.map(([name]) => name), ['sin', 'cos']);
    for (const [name, y] of ends)
      assert.ok(Math.abs(y - Math[name](angle)) < 1e-3, `${name} of pair ${pair} ends with ${y}`);
  }
  await figure.look('sinusoid rows');
};
