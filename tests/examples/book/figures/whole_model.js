// <whole-model> of a page's tiny model, and the <model-part>s beside it: the stream is the sum of what the parts add,
// the gradient of the logits is what the chapter derives, AdamW's first step has the length of its rate, and all of
// it is worked by the keyboard.

const { opened_again } = require('../addresses.js');
const { until } = require('../waiting.js');

const state = (page) => page.evaluate(async () => {
  const { tiny } = await import('book/studied_model.js');
  return { ...tiny.inside, text: tiny.text, chosen: tiny.chosen, steps: tiny.steps, learned: tiny.learned };
});

const numbers = (page, part) => page.locator(`model-part[part=${part}]`).evaluate((one) =>
  [...one.querySelectorAll('tr')].slice(1).map((row) => [...row.querySelectorAll('td')].map(({ textContent }) => Number(textContent.replace('−', '-')))));

const far = (a, b) => Math.max(...a.map((value, n) => Math.abs(value - b[n])));

/// The terms of a head, as another model's figure shows them before any training, make its weights.
async function check_terms(page, offend) {
  const figure = page.locator('main whole-model[variant]');
  await figure.locator('.term-name').first().waitFor();
  await figure.locator('[name=head]').selectOption('2');
  await figure.locator('th', { hasText: 'looks, head 2' }).first().waitFor();
  const [weights, ...terms] = await figure.evaluate((one) => [...one.querySelectorAll('tr.weights')].slice(0, 5).map((row) =>
    [...row.querySelectorAll('td')].map(({ textContent }) => Number(textContent.replace('−', '-')))));
  const powers = weights.map((_, key) => Math.exp(terms.reduce((sum, term) => sum + term[key], 0)));
  const total = powers.reduce((a, b) => a + b);
  if (far(weights, powers.map((power) => power / total)) > 0.02) offend(`terms ${JSON.stringify(terms)} give weights ${weights}`);
}

/// The address of a figure brings back what its model has learned, the text, and what is read of it.
async function check_address(page, figure, offend) {
  const parts = ['.status', '.model-rows', '.field-value', '.model-odds'];
  const read = (of) => of.evaluate((one, parts) => parts.map((part) => one.querySelector(part).innerText).join('|'), parts);
  await figure.locator('td[data-stage="blocks.1.mixer"]').nth(1).click();
  const expected = await read(figure), id = await figure.evaluate((one) => one.closest('figure').id);
  const other = await opened_again(page, figure), same = other.locator(`#${id} whole-model`);
  const found = await until(other, () => read(same), (now) => now === expected);
  if (found !== expected) offend(`${other.url()} shows ${found}, expected ${expected}`);
  await other.close();
}

/// What does not add up in the pass over a text.
function mistakes({ stages, losses, loss, tokens, probabilities, vocabulary, attention }) {
  const of = (name) => stages.find((stage) => stage.name === name), found = [];
  let stream = of('embedding').values;
  for (const layer of [0, 1])
    for (const part of ['mixer', 'feed_forward']) {
      const sum = of(`blocks.${layer}.${part}_sum`).values, added = of(`blocks.${layer}.${part}`).values;
      if (far(sum, stream.map((value, n) => value + added[n])) > 1e-5) found.push(`layer ${layer}: ${part} is not added`);
      stream = sum;
    }
  const T = losses.length, V = vocabulary.length;
  const wanted = probabilities.map((p, n) => (p - Number(n % V === tokens[Math.floor(n / V) + 1])) / T);
  if (far(of('logits').gradient, wanted) > 1e-6) found.push('the gradient of the logits is not (p - t) / T');
  if (Math.abs(losses.reduce((a, b) => a + b) / T - loss) > 1e-5) found.push(`a loss of ${loss} for ${losses}`);
  for (const weights of attention.flat())
    for (let i = 0; i < T; ++i) {
      const row = weights.slice(i * T, (i + 1) * T);
      if (Math.abs(row.reduce((a, b) => a + b) - 1) > 1e-5 || row.some((weight, j) => j > i && weight !== 0)) found.push(`weights of query ${i}: ${row}`);
    }
  return found;
}

/// Time runs up, as in the other figures of layers: the loss stands over the layers, the last one first, and the
/// tokens below.
async function check_order(figure, offend) {
  const titles = await figure.locator('tr > th').allTextContents();
  const places = ['loss', 'layer 1', 'layer 0', 'embedding', 'token'].map((title) => titles.indexOf(title));
  if (places.some((place, n) => place < 0 || place <= places[n - 1])) offend(`rows from the top: ${titles}`);
}

module.exports = async (page, figure, offend) => {
  await figure.locator('canvas').first().waitFor();
  await check_order(figure, offend);
  const becomes = (holds) => until(page, () => state(page), holds);
  const before = await state(page);
  mistakes(before).forEach(offend);
  const said = () => figure.locator('.field-value').textContent();
  const first = await said();
  await figure.locator('input[name=token]').press('ArrowRight');
  if ((await state(page)).chosen !== before.chosen + 1 || await said() === first) offend('the token slider chooses no other token');
  const [p, t, formula, tape] = await numbers(page, 'gradient');
  if (far(formula, tape) > 2e-4 || t.filter((value) => value === 1).length !== 1) offend(`gradients ${formula} and ${tape}, of p ${p}`);

  const step = figure.locator('[name=learn]');
  await step.press('Enter');
  const after = await becomes(({ steps, loss }) => steps === 1 && loss !== before.loss);
  mistakes(after).forEach(offend);
  if (!(after.loss < before.loss)) offend(`the loss goes from ${before.loss} to ${after.loss}`);
  const { learned } = after, moved = learned.after.map((value, n) => Math.abs(value - learned.before[n]));
  if (moved.some((length) => Math.abs(length - 0.05) > 1e-3)) offend(`the first step moves biases by ${moved}`);
  if ((await numbers(page, 'adamw')).length !== 5) offend('the numbers of AdamW do not show');
  await page.locator('model-part[part=adamw] [name=learn]').press('Enter');
  await becomes(({ steps }) => steps === 2);

  const strips = () => figure.locator('canvas').first().evaluate((canvas) => canvas.toDataURL());
  const values = await strips();
  await figure.locator('[name=of]').selectOption('gradient');
  if (await strips() === values) offend('the gradients look like the values');
  const unknown = () => figure.locator('.unknown').textContent();
  await figure.locator('[name=text]').fill('a Dog!');
  await becomes(({ text }) => text === 'a dog');  // it has no capital letters
  if (!(await unknown()).endsWith('it: “!”')) offend(`of “a Dog!” it says ${await unknown()}`);
  await figure.locator('[name=text]').fill('a cat');
  await becomes(({ text }) => text === 'a cat');
  if (await unknown() !== '') offend(`of “a cat” it says ${await unknown()}`);
  await figure.locator('input[name=temperature]').press('Home');
  const odds = await figure.locator('.model-odds').textContent();
  if (!odds.includes('1.000')) offend(`at temperature 0: ${odds}`);
  await figure.locator('[name=draw]').press('Enter');
  const { text: written } = await becomes(({ text }) => text.length === 6);
  if (!written.startsWith('a cat') || await figure.locator('[name=text]').inputValue() !== written) offend(`drawn: ${JSON.stringify(written)}, typed ${JSON.stringify(await figure.locator('[name=text]').inputValue())}`);
  await step.press('Enter');  // from another text than the steps before
  await becomes(({ steps }) => steps === 3);
  await check_address(page, figure, offend);
  await check_terms(page, offend);
  const trained = page.locator('main whole-model[variant]');
  await trained.locator('[name=learn]').press('Enter');
  await trained.locator('[name=learn]:enabled').waitFor();
  await check_address(page, trained, offend);
  await figure.locator('[name=again]').press('Enter');
  await becomes(({ steps }) => steps === 0);
};
