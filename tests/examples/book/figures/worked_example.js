// <worked-example>: steps that fold, with the numbers of the marked pair beside them; as many rows as there are
// tokens, hidden pairs in parentheses, and a sentence with the same numbers, all of it by the keyboard.

const { answered } = require('../waiting.js');

async function type(page, figure, name, value) {
  await figure.locator(`[name=${name}]`).focus();
  await page.keyboard.press('Control+A');
  await page.keyboard.type(String(value));
  await answered(page);
}

const table = (figure, name) => figure.evaluate((one, name) => {
  const found = [...one.querySelectorAll('table')].find((table) => table.querySelector('b').textContent === name);
  return found && [...found.querySelectorAll('tbody tr')].map((row) => [...row.querySelectorAll('td')].map(({ textContent }) => textContent));
}, name);

const number = (text) => Number(text.replace('−', '-').replace(/[()]/g, ''));

/// The steps are folded but for the first, unfold by the keyboard, and stay so when other tokens are asked for.
async function check_steps(page, figure, offend) {
  const open = () => figure.locator('.example-steps details').evaluateAll((all) => all.map(({ open }) => open));
  const before = await open();
  if (before.length < 3 || before.some((one, n) => one !== (n === 0))) offend(`the steps are open: ${before}`);
  await figure.locator('summary').nth(1).focus();
  await page.keyboard.press('Enter');
  await type(page, figure, 'T', 2);
  if (!(await open())[1]) offend('a step that was opened is folded again');
  const colors = await figure.locator('details[open] td[data-row]:not(.hidden-pair)').evaluateAll((all) =>
    all.map((cell) => [Math.sign(Number(cell.textContent.replace('−', '-'))), getComputedStyle(cell).backgroundColor]));
  const of = (sign) => new Set(colors.filter(([one]) => one === sign).map(([, color]) => color));
  if (of(0).size > 1 || [...of(1)].some((color) => of(-1).has(color) || of(0).has(color)))
    offend(`numbers above, at and below 0 have the colours ${[...of(1)]}, ${[...of(0)]}, ${[...of(-1)]}`);
}

/// Each product that is written out has the sum that it says, and the score is their sum over the root.
async function check_products(figure, tables, i, j, offend) {
  const lines = await figure.locator('.example-products p').allTextContents();
  const plain = (text) => text.replaceAll('−', '-').replaceAll('·', '*').replace(/√(\d+)/, 'Math.sqrt($1)');
  for (const line of lines) {
    const [name, ...sides] = line.split(' = '), expected = (await tables(name))[i][j];
    const [computed, said] = sides.map((side) => (0, eval)(plain(side)));
    if (Math.abs(computed - said) > 0.004) offend(`${line}, which is ${computed}`);
    if (said !== number(expected)) offend(`${line}, but the table has ${expected}`);
  }
  if (!lines.some((line) => /^q.?·k.? = /.test(line)) || !lines.at(-1).startsWith('score = '))
    offend(`the products are ${lines}`);
}

module.exports = async (page, figure, offend) => {
  await figure.locator('.example-formula i').first().waitFor();
  const last = Number(await figure.getAttribute('t')) - 1, query = await figure.locator('[name=i]').inputValue();
  if (Number(query) !== last) offend(`it begins with query ${query}, expected the last, ${last}`);
  const formula = await figure.locator('.example-formula').textContent();
  if (/[_^]/.test(formula)) offend(`the formula is not set: ${formula}`);
  await check_steps(page, figure, offend);
  await type(page, figure, 'T', 4);
  const is_cross = await figure.getAttribute('layer') === 'cross_attention';  // M is all of its keys
  await type(page, figure, 'M', is_cross ? 5 : 1);
  const y = await table(figure, 'y');
  if (y?.length !== 4) offend(`${y?.length} rows of y, expected 4`);
  const p = await table(figure, 'p'), score = await table(figure, 'score');
  if (!p || !score) return;
  for (const [i, row] of p.entries()) {
    const total = row.map(number).reduce((a, b) => a + b);
    if (row.length !== 5 || Math.abs(total - 1) > 0.003) offend(`row ${i} of p is ${row}`);
  }
  await type(page, figure, 'i', 2);
  await type(page, figure, 'j', 1);
  await check_products(figure, (name) => table(figure, name), 2, 1, offend);
  const said = await figure.locator('.example-pair').textContent();
  for (const [name, rows] of [['score', score], ['p', p]])
    if (!said.includes(`${name} = ${rows[2][1].replace(/[()]/g, '')}`)) offend(`the pair's ${name} is ${rows[2][1]}, but the figure says: ${said}`);
  for (const [name, rows] of [['score', score], ['p', p]]) {
    const step = await figure.locator(`.of-step[data-table="${name}"]`).textContent();
    if (step !== rows[2][1].replace(/[()]/g, '')) offend(`the step ${name} says ${step}, expected ${rows[2][1]}`);
  }
  if (await figure.locator('.of-pair').count() < 3) offend('the rows of the pair are not marked');
  // Ninety-nine tokens are as many as there may be, and nothing is what was there before.
  const rows = async () => (await table(figure, 'y')).length;
  await type(page, figure, 'T', 99);
  if (await rows() !== 8 || await figure.locator('[name=T]').inputValue() !== '8') offend(`99 tokens are ${await rows()}`);
  await figure.locator('[name=T]').press('Control+A');
  await figure.locator('[name=T]').press('Backspace');
  await figure.locator('[name=T]').press('Tab');
  await answered(page);
  if (await rows() !== 8 || await figure.locator('[name=T]').inputValue() !== '8') offend(`no number of tokens is ${await rows()}`);
  await type(page, figure, 'i', 70);
  if (await figure.locator('[name=i]').inputValue() !== '7') offend(`query 70 is ${await figure.locator('[name=i]').inputValue()}`);
  if (!(await figure.locator('.example-pair').textContent()).startsWith('Query 7 ')) offend('it does not tell of the last query');
  await type(page, figure, 'T', 3);
  if (await rows() !== 3 || await figure.locator('[name=i]').inputValue() !== '2') offend('a query stays that is not there');
  if (await figure.locator('[role=alert]').count() !== 0) offend('an alert is there');
};
