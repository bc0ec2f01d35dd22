// <take-apart> of a model that train_it.js has trained: the terms of each pair add up to the score, and a term that
// is switched off changes the weights and the loss. The address of the figure trains the same model and takes it apart
// in the same way.

const { opened_again } = require('../addresses.js');
const { until } = require('../waiting.js');

async function shown(figure) {
  return figure.evaluate((one) => ({
    losses: [...one.querySelectorAll('.loss')].map(({ textContent }) => parseFloat(textContent.split(': ')[1])),
    weights: one.querySelector('.maps > :last-child .cells')?.innerHTML,
    alert: one.querySelector('[role=alert]').textContent, busy: one.ariaBusy === 'true',
  }));
}

/// A term may be worth less than the digits of the loss show, so what ends the wait is that the figure has done.
const changed = (page, figure, before) => until(page, () => shown(figure), ({ weights, alert, busy }) =>
  !busy && (alert || weights !== before.weights));

async function check_address(page, figure, offend) {
  for (const [name, index] of [['layer', 1], ['head', 2]]) {
    const before = await shown(figure);
    await figure.locator(`[name=${name}]`).selectOption({ index });
    await changed(page, figure, before);
  }
  const before = await shown(figure);
  await figure.locator('.terms input').nth(1).press('Space');
  const expected = await changed(page, figure, before);
  const other = await opened_again(page, figure), same = other.locator('main take-apart');
  const found = await until(other, () => shown(same), (now) => JSON.stringify(now) === JSON.stringify(expected));
  if (JSON.stringify(found) !== JSON.stringify(expected))
    offend(`${other.url()} shows losses ${found.losses}, expected ${expected.losses} ${found.alert}`);
  await other.close();
}

module.exports = async (page, figure, offend) => {
  const nothing = await shown(figure);
  await figure.locator('[name=look]').focus();
  await page.keyboard.press('Enter');
  const all = await changed(page, figure, nothing);
  if (all.alert) return offend(all.alert);
  if (all.losses[0] !== all.losses[1]) offend(`losses ${all.losses} with all terms on`);

  // softmax of the sum of the terms is the weights, for the last query of the first head.
  const sums = await figure.evaluate(async (one) => {
    const { layers } = await document.getElementById(one.getAttribute('of')).run.ask({ do: 'terms', text: 'the rat', without: [] });
    const size = 7, row = (matrix) => matrix.slice(-size);
    const scores = row(layers[0].terms[0].heads[0]).map((_, j) =>
      layers[0].terms.reduce((sum, { heads }) => sum + row(heads[0])[j], 0));
    const total = scores.reduce((sum, score) => sum + Math.exp(score), 0);
    return scores.map((score, j) => Math.abs(Math.exp(score) / total - row(layers[0].weights[0])[j]));
  });
  if (Math.max(...sums) > 1e-5) offend(`the terms do not add up to the weights: ${sums}`);

  const boxes = figure.locator('.terms input');
  if (await boxes.count() !== 4) offend(`${await boxes.count()} terms, expected 4`);
  for (let n = 0; n < await boxes.count(); ++n) {
    const name = await boxes.nth(n).getAttribute('value');
    const before = await shown(figure);
    await boxes.nth(n).focus();
    await page.keyboard.press('Space');
    const off = await changed(page, figure, before);
    console.log(`take-apart: loss ${off.losses[0]}, without ${name} ${off.losses[1]}`);
    if (off.alert) offend(off.alert);
    if (off.losses[0] !== all.losses[0]) offend(`the loss with all terms changes without ${name}`);
    if (off.weights === before.weights) offend(`${name} changes no weights`);
    await page.keyboard.press('Space');
    const on = await changed(page, figure, off);
    if (on.weights !== before.weights || on.losses[1] !== before.losses[1]) offend(`${name} does not come back`);
  }
  await check_address(page, figure, offend);
};
