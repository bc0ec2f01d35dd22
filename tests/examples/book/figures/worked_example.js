// <worked-example>: as many rows as there are tokens, hidden pairs in parentheses, and a sentence with the numbers of
// the marked pair, all of it by the keyboard.

async function type(page, figure, name, value) {
  await figure.locator(`[name=${name}]`).focus();
  await page.keyboard.press('Control+A');
  await page.keyboard.type(String(value));
  await page.waitForTimeout(300);
}

const table = (figure, name) => figure.evaluate((one, name) => {
  const found = [...one.querySelectorAll('table')].find((table) => table.querySelector('b').textContent === name);
  return found && [...found.querySelectorAll('tbody tr')].map((row) => [...row.querySelectorAll('td')].map(({ textContent }) => textContent));
}, name);

const number = (text) => Number(text.replace('−', '-').replace(/[()]/g, ''));

module.exports = async (page, figure, offend) => {
  await figure.locator('.example-formula i').first().waitFor();
  const formula = await figure.locator('.example-formula').textContent();
  if (/[_^]/.test(formula)) offend(`the formula is not set: ${formula}`);
  await type(page, figure, 'T', 4);
  await type(page, figure, 'M', 1);
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
  const said = await figure.locator('.example-pair').textContent();
  for (const [name, rows] of [['score', score], ['p', p]])
    if (!said.includes(`${name} ${rows[2][1].replace(/[()]/g, '')}`)) offend(`the pair's ${name} is ${rows[2][1]}, but the figure says: ${said}`);
  if (await figure.locator('.of-pair').count() < 3) offend('the rows of the pair are not marked');
  await type(page, figure, 'T', 99);
  if (await figure.locator('[role=alert]').count() !== 1) offend('no alert for 99 tokens');
  await type(page, figure, 'T', 3);
  if (await figure.locator('[role=alert]').count() !== 0) offend('an alert stays');
};
