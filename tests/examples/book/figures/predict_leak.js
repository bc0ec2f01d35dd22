// <predict-leak>: both are trained before one can choose, and the one that leaks loses more in order than in one pass.

const { Figure, assert } = require('../figure.js');
const { until } = require('../waiting.js');

module.exports = async (page, root) => {
  const figure = new Figure(page, root), status = () => root.locator('.status').textContent();
  for (const name of ['A', 'B', 'see']) assert.ok(await figure.input(name).isDisabled(), name);  // nothing is trained
  for (const leaks of ['B', 'A']) {
    await page.evaluate((is_first) => { Math.random = () => is_first ? 0.4 : 0.6; }, leaks === 'A');
    await figure.input('train').press('Enter');
    await until(page, () => figure.input('train').isEnabled());
    assert.ok(await figure.input('see').isDisabled());  // nothing is chosen
    const curves = await root.locator('[data-name]').evaluateAll((all) => all.map(({ dataset }) => dataset.name));
    assert.deepEqual(curves, ['A', 'B']);
    await figure.input('A').press('Enter');
    assert.equal(await figure.input('A').getAttribute('aria-pressed'), 'true');
    await figure.look(`predict leak ${leaks}`);
    await figure.input('see').press('Enter');
    const said = await until(page, status, (text) => text.includes('in order;'));
    assert.ok(said.startsWith(`${leaks === 'A' ? 'Right' : 'No'}: ${leaks} leaks`), said);
    for (const [, side, once, ordered] of said.matchAll(/([AB]) loses ([\d.]+) .*? and ([\d.]+) in order/g))
      assert.equal(ordered - once > 0.1, side === leaks, said);
    await figure.look(`predict leak ${leaks} answered`);
  }
};
