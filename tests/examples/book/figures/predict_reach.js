// <predict-reach>: tokens are marked by the keyboard and by the mouse, and the library says which of them reach.

const { Figure, assert } = require('../figure.js');
const { until } = require('../waiting.js');

const T = 4, layers = 2, M = 4, token = 17;
const first = token - token % T - layers * M;  // of the tokens that reach it

module.exports = async (page, root) => {
  const figure = new Figure(page, root), texts = async () => (await figure.rows(({ text }) => text)).flat();
  const cell = (n) => root.locator(`.field-cell[data-key="${n}"]`);
  assert.ok(await figure.input('see').isDisabled());
  await cell(first).click();
  await cell(first - 1).click();
  await cell(token).click();  // itself cannot be marked
  await root.locator('.field-plane').focus();
  await page.mouse.move(0, 0);
  for (const key of ['ArrowUp', 'Enter']) await page.keyboard.press(key);
  await page.keyboard.press('Enter');  // and takes its mark away
  await page.keyboard.press('Space');
  assert.deepEqual(await figure.input('prediction').inputValue(), [first - 1, first, token - T].join());
  await figure.look('predict reach');
  await figure.input('see').press('Enter');
  await until(page, async () => (await texts()).includes('✓'));
  const expected = Array.from({ length: 6 * T }, (_, n) => n === token ? '●' : n < first - 1 || n > token ? ''
    : n === first - 1 ? '✗' : n === first || n === token - T ? '✓' : '!');
  assert.deepEqual(await texts(), expected);
  const said = await root.locator('.status').textContent();
  assert.equal(said, `${token - first} tokens reach it, from token ${first} on. You found 2 of them (✓), missed ` +
    `${token - first - 2} (!), and marked 1 that cannot (✗).`);
  await cell(first + 1).click();  // what is answered stays
  assert.deepEqual(await texts(), expected);
  await figure.look('predict reach answered');
  await figure.input('again').press('Enter');
  assert.equal((await texts()).join(''), '●');
};
