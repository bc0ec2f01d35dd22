// <wrong-on-purpose>: both trainings go on, and without a mask the loss in one pass is too good to be true.

async function train(page, figure, form, mistake) {
  await figure.locator('[name=form]').selectOption(form);
  await figure.locator('[name=mistake]').selectOption(mistake);
  await figure.locator('[name=train]').focus();
  await page.keyboard.press('Enter');
  for (let n = 0; n < 1200 && await figure.locator('tbody tr').count() < 2; ++n) await page.waitForTimeout(100);
  return figure.evaluate((one) => [...one.querySelectorAll('tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent)));
}

module.exports = async (page, figure, offend) => {
  const [right, wrong] = await train(page, figure, 'Shaw', 'no mask');
  if (!wrong) return offend('no losses of two trainings within two minutes');
  console.log(`wrong-on-purpose: ${right.slice(0, 3)}; ${wrong.slice(0, 3)}`);
  if (Math.abs(right[1] - right[2]) > 0.002) offend(`as it should be, ${right[1]} in one pass and ${right[2]} in order`);
  if (!(Number(wrong[1]) < Number(right[1]))) offend('no leak in one pass');
  if (!(Number(wrong[2]) > Number(right[2]) + 0.3)) offend('the leak does not show in order');
};
