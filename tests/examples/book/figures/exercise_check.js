// All <exercise-check> of a page, by keyboard: the right answer is right and another is not, a hint comes and goes,
// and requests that the reader changes as asked have the answer.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');

const file = path.resolve(__dirname, '../../../../examples/book/chapters/answers.json');
const answers = JSON.parse(fs.readFileSync(file, 'utf8'));

async function said(page, exercise, text) {
  await exercise.locator('[name=answer]').fill(text);
  await page.keyboard.press('Enter');
  return exercise.locator('output').textContent();
}

async function check_answers(page, exercise, { value, digits = 0 }, offend) {
  const expected = {
    [value.toFixed(digits)]: 'Right.', [value.toFixed(digits).replace('.', ',')]: 'Right.',
    [(value + 1).toFixed(digits)]: 'Not yet.', '': 'Type a number.', 'many': 'Type a number.',
  };
  if (digits > 1) expected[(value + 0.003).toFixed(3)] = 'Not yet.';
  for (const [text, say] of Object.entries(expected)) {
    const answer = await said(page, exercise, text);
    if (answer !== say) offend(`"${text}" is answered by "${answer}", expected "${say}"`);
  }
}

async function check_hint(page, exercise, { hint }, offend) {
  for (const shown of [true, false]) {
    await exercise.locator('[name=hint]').focus();
    await page.keyboard.press('Enter');
    if (await exercise.getByText(hint, { exact: true }).isVisible() !== shown) offend(`the hint is${shown ? ' not' : ''} there`);
  }
}

async function ran(page, exercise, requests) {
  const asked = exercise.locator('textarea');
  if (requests) await asked.fill(requests);
  await exercise.locator('[name=run]').focus();
  await page.keyboard.press('Enter');
  await exercise.locator('[name=run]:enabled').waitFor();
  return exercise.locator('pre').textContent();
}

/// Chooses by the controls what the changed requests have, and returns what is then asked.
async function chosen(page, exercise, { controls, requests }) {
  for (const [n, { path: keys, options }] of controls.entries()) {
    const wanted = keys.reduce((part, key) => part?.[key], requests) ?? null;
    const control = exercise.locator('.choices :is(select, input)').nth(n);
    if (options)
      await control.selectOption(Object.keys(options).find((name) => JSON.stringify(options[name]) === JSON.stringify(wanted)));
    else await control.fill([wanted].flat().join(', '));
  }
  return (await exercise.locator('textarea').inputValue()).split('\n').map((line) => JSON.parse(line));
}

async function check_requests(page, exercise, { start, controls, requests, answer, value, digits = 0 }, offend) {
  if (!start) return;
  const asked = await chosen(page, exercise, { controls, requests });
  try {
    assert.deepEqual(asked, requests);
  } catch {
    offend(`the controls ask ${JSON.stringify(asked)}, expected ${JSON.stringify(requests)}`);
  }
  await exercise.locator('summary').focus();
  await page.keyboard.press('Enter');
  await exercise.locator('[name=reset]').click();
  const given = await ran(page, exercise);
  const changed = await ran(page, exercise, requests.map((request) => JSON.stringify(request)).join('\n'));
  const numbers = (text) => (text.match(/-?[0-9.]+(e-?[0-9]+)?/g) ?? []).map((number) => Number(number).toFixed(digits));
  if (given === changed) offend(`the changed requests have the answer of those that were given: ${given}`);
  if (!numbers(changed).includes(value.toFixed(digits))) offend(`${changed} has no ${value} at ${answer}`);
  const broken = await ran(page, exercise, '{"do": "dance"}');
  if (!broken.includes('dance')) offend(`a request to dance is answered by ${broken}`);
}

module.exports = async (page, figure, offend) => {
  for (const exercise of await page.locator('main exercise-check').all()) {
    const name = await exercise.getAttribute('name');
    const say = (what) => offend(`${name}: ${what}`);
    await check_answers(page, exercise, answers[name], say);
    await check_hint(page, exercise, answers[name], say);
    await check_requests(page, exercise, answers[name], say);
  }
};
