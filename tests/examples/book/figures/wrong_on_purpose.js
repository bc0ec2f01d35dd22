// <wrong-on-purpose>: both trainings go on, and the loss of a leak in one pass is too good to be true. The
// two-way form fills in what is left blank.

const { until } = require('../waiting.js');

async function train(page, figure, steps, form, mistake) {
  await figure.evaluate((one, steps) => one.setAttribute('steps', steps), steps);
  await figure.locator('[name=form]').selectOption(form);
  await figure.locator('[name=mistake]').selectOption(mistake);
  await figure.locator('[name=train]').focus();
  await page.keyboard.press('Enter');
  const rows = () => figure.evaluate((one) =>
    [...one.querySelectorAll('tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent)));
  return until(page, rows, ({ length }) => length === 2);
}

/// A few steps are enough to see that the blanks are filled in, and nothing else.
async function fill_in(page, figure, offend) {
  for (const [name, in_one_pass, in_order, filled] of await train(page, figure, 3, 'Music, two-way', 'the diagonal counted twice')) {
    const [before, after] = filled.split(' → ').map((text) => [...text]);
    const kept = before.every((character, n) => character === '□' || character === after[n]);
    if (!before.includes('□') || after.length !== before.length || !kept) offend(`${name}: filled in ${filled}`);
    if (!(Number(in_one_pass) > 0) || in_order !== '–') offend(`${name}: losses ${in_one_pass} and ${in_order}`);
  }
}

module.exports = async (page, figure, offend) => {
  if (!new URL(page.url()).pathname.endsWith('/workshop.html')) return fill_in(page, figure, offend);
  const [right, wrong] = await train(page, figure, 300, 'Transformer-XL', 'a softmax over the queries');
  if (!wrong) return offend('no losses of two trainings');
  console.log(`wrong-on-purpose: ${right.slice(0, 3)}; ${wrong.slice(0, 3)}`);
  if (Math.abs(right[1] - right[2]) > 0.002) offend(`as it should be, ${right[1]} in one pass and ${right[2]} in order`);
  if (!(Number(wrong[1]) < Number(right[1]))) offend('no leak in one pass');
  if (!(Number(wrong[2]) > Number(right[2]) + 1)) offend('the leak does not show in order');
  await fill_in(page, figure, offend);
};
