// <sentence-score>: the numbers of relative.html, by the keyboard; those of the library, by tests/examples/book/beats.js.

const assert = require('node:assert/strict');
const path = require('node:path');
const { answered } = require('../waiting.js');
const sentence = require(path.resolve(__dirname, '../../../../examples/book/make/relative_score.js'));

const { by_distance, mean, score, term, weights, words } = sentence, T = words.length;
const number = (text) => Number(text.replace('−', '-'));
const range = (count) => Array.from({ length: count }, (_, n) => n);

/// The numbers of a row that a label begins, without those that one may not read.
const row = (figure, label) => figure.evaluate((one, label) => {
  const found = [...one.querySelectorAll('tbody tr')].find((line) => line.querySelector('th')?.textContent === label);
  return found && [...found.querySelectorAll('td:not(.future)')].map(({ textContent }) => textContent);
}, label).then((texts) => texts?.map(number));

const press = async (page, figure, name, key) => {
  await figure.locator(`[name=${name}]:not(output)`).press(key);
  await answered(page);
};

const near = (found, expected, what) => {
  assert.equal(found?.length, expected.length, `${what}: ${found}`);
  found.forEach((value, n) => assert.ok(Math.abs(value - expected[n]) < 0.006, `${what}: ${found}, expected ${expected}`));
};

/// The rows of one query, and the products of its pair with a key.
async function check_query(figure, i, j, has_positions) {
  const keys = range(i + 1), only = (j) => term('a', i, j) / 2, terms = has_positions ? 'abcd' : 'a';
  const names = { a: 'q·k', b: 'q·r', c: 'u·k', d: 'v·r' };
  for (const name of terms) near(await row(figure, names[name]), keys.map((j) => term(name, i, j)), names[name]);
  near(await row(figure, 'score'), keys.map(has_positions ? (j) => score(i, j) : only), 'score');
  if (has_positions) near(await row(figure, 'weight'), keys.map((j) => weights(i)[j]), 'weight');
  const lines = await figure.locator('.example-products p').allTextContents();
  assert.equal(lines.length, terms.length + 1);
  assert.equal(number(lines.at(-1).split(' = ').at(-1)), has_positions ? score(i, j) : only(j));
}

async function check_shift(page, figure) {
  const cells = await figure.locator('.moving').evaluateAll((rows) => rows.map((one) => [...one.querySelectorAll('b')].map(({ textContent }) => textContent)));
  cells.forEach((texts, i) => assert.deepEqual(texts.map(number), range(T).map((c) => by_distance(i, T - 1 - c)), `row ${i}`));
  await press(page, figure, 'moved', 'End');
  await page.evaluate(() => Promise.all(document.getAnimations().map(({ finished }) => finished)));
  // What stands above a key is what the library's shift brings there.
  const at = await figure.evaluate((one) => [...one.querySelectorAll('.moving')].map((line) => {
    const { left, right } = line.querySelector('.track').getBoundingClientRect(), wide = (right - left) / 6;
    return [...line.querySelectorAll('b')].map((cell) => [Math.floor((cell.getBoundingClientRect().left - left + wide / 2) / wide), cell.textContent]);
  }));
  at.forEach((all, i) => all.filter(([j]) => j >= 0).forEach(([j, text]) =>
    assert.equal(number(text), term('b', i, j) + term('d', i, j), `${i} ${j}`)));
}

async function check_memory(page, figure) {
  for (const M of [3, 4]) {
    for (const i of range(T).slice(M)) {
      const found = await figure.locator('tbody tr').nth(i).locator('td:not(.future, .remembered)').allTextContents();
      assert.deepEqual(found.map(number), range(i + 1).map((j) => score(i, j)), `behind ${M}, query ${i}`);
    }
    assert.match(await figure.locator('.key').textContent(), /those of all six words at once/);
    await press(page, figure, 'm', 'ArrowRight');
  }
}

async function check_whole(page, figure) {
  await check_query(figure, T - 1, T - 2, true);
  const own = (await figure.locator('td.own').allTextContents()).map(number);
  near(own, mean(T - 1), 'mean');
  await press(page, figure, 'i', 'Home');
  assert.match(await figure.locator('.key').textContent(), /is remembered, and asks nothing/);
  await press(page, figure, 'm', 'Home');
  await check_nothing_of_the_future(figure);
}

async function check_nothing_of_the_future(figure) {
  assert.match(await figure.locator('.key').textContent(), /may not read it/);
  assert.equal(await figure.locator('.example-products p').count(), 0);
}

module.exports = async (page, figure) => {
  const shows = await figure.getAttribute('shows');
  if (shows === 'shift') return check_shift(page, figure);
  if (shows === 'memory') return check_memory(page, figure);
  if (shows === 'whole') return check_whole(page, figure);
  await check_query(figure, T - 1, T - 2, shows === 'terms');
  await figure.locator('thead [data-word="3"]').click();
  await figure.locator('tbody tr:last-child [data-word="1"]').click();
  await answered(page);
  await check_query(figure, 3, 1, shows === 'terms');
  await press(page, figure, 'j', 'End');
  await check_nothing_of_the_future(figure);
};
