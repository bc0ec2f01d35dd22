// <chorale-duet>: both models go on from the same bars as the program `study` does natively, each note shows when it has
// begun, and the counts are those of the notes that show. Without JavaScript and in print all is there from the beginning.

const fs = require('node:fs');
const path = require('node:path');
const { Figure, assert } = require('../figure.js');
const { narrow } = require('../page.js');
const { until } = require('../waiting.js');
const { count_oscillators, models, written } = require('./chorale_player.js');

const names = Object.keys(models);
const results = path.resolve(__dirname, '../../../../examples/studies/bach/results.json');
const voices = 4, given = 32, end = 128;  // in 16ths
const seconds = 60 / 72 / 4, delay = 0.1;
const request = (prompt, seed) =>
  ({ do: 'write', prompt: '\n' + prompt, given: [], length: voices * (end - given), temperature: 1, top_p: 0.95, seed, stop: '\n' });

/// In the page: time stands still until the check moves it.
function stop_time() {
  globalThis.time = 0;
  performance.now = () => globalThis.time;
}

/// In the page: counts the flashes of marks, also of those that have ended before anybody looks.
function count_flashes() {
  globalThis.flashes = 0;
  document.addEventListener('animationstart', ({ animationName }) => { flashes += animationName === 'off-beat'; });
}

/// Each half of the figure as one sees it, from the drawing alone.
const seen = (page) => page.locator('chorale-duet').evaluate((figure) => Object.fromEntries([...figure.querySelectorAll('[data-model]')].map((half) => {
  const visible = (selector) => [...half.querySelectorAll(selector)].filter((one) => one.checkVisibility({ visibilityProperty: true }));
  const places = (selector) => visible(selector).map((one) => ['x', 'y', 'width', 'style'].map((name) => one.getAttribute(name)).join(' '));
  const line = half.querySelector('.playhead'), count = visible('.so-far, .whole').map(({ textContent }) => textContent).join('|');
  return [half.dataset.model, {
    given: places('.given'), written: visible('.written:not(.held)').length, marks: visible('.off-beat').length, count,
    all: half.querySelectorAll('.written:not(.held)').length,
    all_marks: half.querySelectorAll('.off-beat').length,
    drawn: [...half.querySelectorAll('.written, .off-beat')].map((one) => one.dataset.start + one.getAttribute('y') + one.getAttribute('cy')).join(' '),
    place: line.hasAttribute('hidden') ? null : (Number(line.getAttribute('x1')) - 26) / 6.8, measured: half.querySelector('.measured').textContent,
  }];
})));

/// The notes that a text begins from the given part to a 16th, and those of them between eighths.
function begun(text, before) {
  const begins = (n) => text[n] !== text[n - voices] && text[n] !== ' ';
  const places = Array.from({ length: Math.min(text.length, Math.ceil(before) * voices) }, (_, n) => n);
  const steps = places.filter((n) => n >= given * voices && begins(n)).map((n) => Math.floor(n / voices));
  return { written: steps.length, marks: steps.filter((step) => step % 2).length };
}

/// The numbers in what is said of a half, none before its first note.
const counts = (said) => said.startsWith('no note yet') ? [0, 0] : said.match(/\d+/g).slice(0, 2).map(Number);

/// All is there: in print, or without JavaScript.
async function expect_whole(page, how) {
  for (const [name, half] of Object.entries(await seen(page))) {
    assert.ok(half.all > 20 && half.written === half.all && half.marks === half.all_marks, `${how}, ${name}: ${JSON.stringify(half)}`);
    assert.deepEqual(counts(half.count), [half.all_marks, half.all], `${how}, ${name}`);
  }
  assert.equal(await page.locator('chorale-duet [name=play]').isVisible(), false, how);
}

async function check_still(page) {
  await page.emulateMedia({ media: 'print' });
  await expect_whole(page, 'in print');
  await page.emulateMedia({ media: 'screen' });
  const context = await page.context().browser().newContext({ viewport: narrow, javaScriptEnabled: false });
  const still = await context.newPage();
  await still.goto(page.url());
  await expect_whole(still, 'without JavaScript');
  assert.ok(await still.evaluate(() => document.documentElement.scrollWidth <= document.documentElement.clientWidth), 'wider than a phone');
  const titles = [];
  for (let n = 0; n < 3; ++n) {
    await still.locator('.doors a').nth(n).click();
    await still.waitForURL((url) => !url.pathname.endsWith('/index.html'));
    titles.push(await still.locator('h1').textContent());
    await still.goBack();
  }
  assert.equal(new Set(titles).size, 3, `the doors lead to ${titles}`);
  await context.close();
}

module.exports = async (page, figure) => {
  const tester = new Figure(page, figure);
  const move = (to) => page.evaluate((to) => { globalThis.time = to; }, to);
  const says = (text) => figure.locator('.status', { hasText: text }).waitFor();
  const texts = () => figure.evaluate((one) => one.texts);
  const press = () => figure.locator('[name=play]').press('Enter');
  const sounding = () => page.evaluate(() => globalThis.played.filter(({ off }) => off !== undefined).length);
  const flashes = () => page.evaluate(() => globalThis.flashes);

  /// Presses the button, and plays the given bars. Returns when the models begin.
  const begin = async () => {
    const at = await page.evaluate(() => globalThis.time);
    await press();
    await says('two bars');
    const now = at + 1000 * (delay + given * seconds) + 1;
    await move(now);
    await says('goes on');
    return now;
  };
  /// Plays up to a 16th, and compares all that shows with what has begun.
  const expect_at = async (begun_at, step) => {
    await move(begun_at + 1000 * (delay + (step - given) * seconds) + 1);
    const now = await texts();
    await tester.shows(names.map((name) => ({ ...begun(now[name], Math.min(step + 0.01, end)) })), async () =>
      Object.values(await seen(page)).map(({ written, marks }) => ({ written, marks })));
    for (const [name, { count, written, marks, place }] of Object.entries(await seen(page))) {
      assert.deepEqual(counts(count), [marks, written], `${name} at ${step}: ${count}`);
      if (step < end) assert.ok(Math.abs(place - step) < 0.1, `${name}: the line is at ${place}, expected ${step}`);
    }
  };

  await page.evaluate(count_oscillators);
  await page.evaluate(stop_time);
  await page.evaluate(count_flashes);
  await check_still(page);

  const still = await seen(page);
  assert.deepEqual(still.relative.given, still.absolute.given);
  for (const [name, { written, marks, count, given: bars, measured }] of Object.entries(still)) {
    assert.ok(bars.length > 10 && !written && !marks && counts(count).join() === '0,0', `${name} before: ${count}`);
    const { columns, rows } = JSON.parse(fs.readFileSync(results, 'utf8')).tables.book;
    const between = columns.findIndex((column) => column.title === 'between');
    for (const row of [`\`${models[name]}\``, 'Bach, the test text'])
      assert.ok(measured.includes(`${rows.find(([title]) => title === row)[between]}\u00a0%`), `${name}: ${measured}, expected that of ${row}`);
  }
  assert.equal(await sounding(), 0);

  const begun_at = await begin();
  const first = await texts();
  assert.equal(first.relative.slice(0, voices * given), first.absolute.slice(0, voices * given));
  for (const name of names) {
    const prompt = first[name].slice(0, voices * given), text = await written(page, name, request(prompt, 1));
    assert.equal(first[name], prompt + text.replace('\n', ''), name);
    assert.equal((await seen(page))[name].drawn, still[name].drawn, `${name}: what was drawn with the book`);
  }
  for (const step of [given + 1, 61.5, 90]) await expect_at(begun_at, step);
  assert.equal(await flashes(), 0, 'a mark flashes for a reader who wants no motion');
  for (const [heard, is_heard] of [['absolute', true], ['none', false], ['relative', true]]) {
    await figure.locator('[name=heard]').selectOption(heard);
    assert.equal(await sounding() > 0, is_heard, `the sound of ${heard}`);
  }
  await expect_at(begun_at, end);
  await says('again');
  assert.equal(await sounding(), 0);
  const [relative, absolute] = names.map((name) => begun(first[name], end));
  assert.ok(relative.marks / relative.written < 0.05 && absolute.marks / absolute.written > 0.2, 'one keeps the beat, the other does not');

  await page.emulateMedia({ reducedMotion: 'no-preference' });
  await expect_at(await begin(), 64);
  assert.ok(await until(page, flashes), 'no mark flashes');
  const second = await texts();
  for (const name of names) assert.notEqual(second[name], first[name], `${name} writes the same again`);
  await press();
  await figure.locator('[name=play]', { hasText: 'Play again' }).waitFor();
  assert.equal(await sounding(), 0);
  await page.emulateMedia({ reducedMotion: 'reduce' });
  await page.evaluate(() => { delete performance.now; });
};
