// All <exercise-check> of a page, by keyboard: the right answer is right and another is not, usual mistakes are told, a
// hint comes and goes, the solution comes after two tries, what was solved is marked at the next visit,
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

/// What is said of one answer after the other.
const said_of_all = (exercise, texts) => exercise.evaluate((one, texts) => texts.map((text) => {
  const input = one.querySelector('[name=answer]');
  input.value = text;
  input.dispatchEvent(new Event('input', { bubbles: true }));
  input.form.requestSubmit();
  return one.querySelector('output').textContent;
}), texts);

/// What one may type for an answer of these digits, and what is said.
const judged = [
  ['14/2', 7, 0, 'Right.'], ['7 tokens', 7, 0, 'Right.'], ['+7', 7, 0, 'Type a number.'], ['7.', 7, 0, 'Right.'], ['1/0', 7, 0, 'Not yet.'],
  ['50 %', 0.5, 1, 'Right.'], ['50%', 50, 0, 'Right.'], ['1/2', 0.5, 1, 'Right.'], ['37,5 percent', 37.5, 1, 'Right.'],
  ['1,024', 1024, 0, 'Right.'], ['1,056 numbers', 1056, 0, 'Right.'], ['1,613', 1.613, 3, 'Right.'], ['1.61', 1.613, 3, 'Right so far. Give 3 digits after the point.'],
  ['512 tokens', 512, 0, 'Right.'], ['−3', -3, 0, 'Right.'], ['1.2.3', 1, 0, 'Type a number.'], ['seven', 7, 0, 'Type a number.'],
  ['8', 7, 0, 'Not yet: it is off by one. Does the first one count, or the last?'], ['9', 7, 0, 'Not yet.'], ['1.5', 0.5, 1, 'Not yet.'],
];

async function check_judgement(page, offend) {
  const found = await page.evaluate(async (rows) => {
    const { judged } = await import('book/exercise_check.js');
    return rows.map(([text, value, digits]) => judged(text, { value, digits }).say);
  }, judged);
  judged.forEach(([text, value, , say], n) => {
    if (found[n] !== say) offend(`"${text}" for ${value} is answered by "${found[n]}", expected "${say}"`);
  });
}

async function check_answers(page, exercise, { value, digits = 0, slips = [] }, offend) {
  const text = (number) => number.toFixed(digits);
  const expected = [
    ...slips.map(([wrong, say]) => [String(wrong), `Not yet. ${say}`]),
    [text(value + 5), 'Not yet.'], ['', 'Type a number.'], ['many', 'Type a number.'],
    ...digits > 1 ? [[(value + 0.003).toFixed(3), 'Not yet.']] : [],
    [text(value), 'Right.'], [text(value).replace('.', ','), 'Right.'],
  ].filter(([typed]) => Number(typed) !== value + 5 || !slips.some(([wrong]) => wrong === value + 5));
  const answers = await said_of_all(exercise, expected.map(([typed]) => typed));
  expected.push(expected[0]);  // by the keyboard, after a right one
  answers.push(await said(page, exercise, expected[0][0]));
  expected.forEach(([typed, say], n) => {
    if (answers[n] !== say) offend(`"${typed}" is answered by "${answers[n]}", expected "${say}"`);
  });
}

/// The solution comes after two tries, and what was solved is marked when one comes back.
async function check_solution(page, exercise, { value, digits = 0, hint }, offend) {
  const name = await exercise.getAttribute('name'), button = exercise.locator('[name=solution]');
  await said_of_all(exercise, [String(value + 1000), String(value + 2000)]);
  await button.focus();
  await page.keyboard.press('Enter');
  const told = await exercise.locator('output').textContent();
  if (told !== `The answer is ${value.toFixed(digits).replace('-', '−')}. ${hint}`) offend(`the solution is "${told}"`);
  const is_kept = await page.evaluate((name) => JSON.parse(localStorage.getItem('exercises')).includes(name), name);
  if (!is_kept) offend('that it was solved is not kept');
}

/// All exercises of the page are solved: the contents have a tick, and a new visit knows.
async function check_visit(page, offend) {
  if (await page.locator('header .finished [aria-current]').count() !== 1) offend('the contents have no tick for this chapter');
  const known = await page.evaluate(() => [...document.querySelectorAll('exercise-check')].map((one) => {
    const fresh = document.body.appendChild(one.cloneNode(false)), said = fresh.querySelector('output').textContent;
    fresh.remove();
    return said;
  }));
  if (!known.every((said) => said.startsWith('✓'))) offend(`a new visit says ${known}`);
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
  const [, named] = /^(?:tensors\.(\w+)\.values|(views\.\d+\.\w+))\.\d+$/.exec(answer)?.filter(Boolean) ?? [];
  if (named && !changed.includes(named)) offend(`${changed} does not name ${named}`);
  const broken = await ran(page, exercise, '{"do": "dance"}');
  if (!broken.includes('dance')) offend(`a request to dance is answered by ${broken}`);
}

module.exports = async (page, figure, offend) => {
  await check_judgement(page, offend);
  for (const exercise of await page.locator('main exercise-check').all()) {
    const name = await exercise.getAttribute('name');
    const say = (what) => offend(`${name}: ${what}`);
    if (await exercise.locator('[name=solution]').isVisible()) say('the solution is there before any try');
    await check_answers(page, exercise, answers[name], say);
    await check_solution(page, exercise, answers[name], say);
    await check_hint(page, exercise, answers[name], say);
    await check_requests(page, exercise, answers[name], say);
  }
  await check_visit(page, offend);
};
