// Follows a training in a report, as a reader would: the page reads itself anew from the disk while the program
// writes it, with what was chosen, and stops when the training has ended.
//
//     node followed_report.js RUN.html TRAINING
//
// TRAINING is the number of the process that trains the run of the report.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const { launch } = require('./browser.js');

const [report, training] = process.argv.slice(2);

async function main() {
  const browser = await launch();
  const page = await browser.newPage();
  page.on('pageerror', (error) => { throw error; });
  page.on('request', (request) => assert.match(request.url(), /^(file|data):/));
  await page.goto(`file://${path.resolve(report)}`);

  // The step up to which the page has metrics.
  const step = () => page.locator('.facts').textContent().then((text) => Number(text.match(/for (\d+) steps/)[1]));
  const read_later = async (before) => {
    await page.waitForFunction(
      (before) => Number(document.querySelector('.facts')?.textContent.match(/for (\d+) steps/)?.[1]) > before, before);
    await page.waitForLoadState('load');
  };
  const part = () => page.evaluate(() => JSON.stringify(document.querySelector('drawn-figure').view));
  const choose = page.locator('select[name=log_y]');
  await choose.focus();
  await page.keyboard.press('ArrowDown');
  const chart = page.locator('section:has(#training) drawn-figure [tabindex]').first();
  await chart.focus();
  await page.keyboard.press('Home');
  await page.keyboard.press('+');
  await page.evaluate(() => { document.querySelector('details').open = true; });
  const before = { step: await step(), part: await part(), says: await page.locator('drawn-figure output').first().textContent() };
  assert.match(before.part, /"low":\d.*"log_y":true/);
  await read_later(before.step);
  assert.equal(await choose.inputValue(), '1', 'another axis after the page was read anew');
  assert.equal(await part(), before.part, 'another part after the page was read anew');
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute('role')), 'application', 'the focus is lost');
  assert.equal((await page.locator('drawn-figure output').first().textContent()).split(':')[0], before.says.split(':')[0]);
  assert.ok(await page.evaluate(() => document.querySelector('details').open), 'what was open is closed');

  // While its reader wants it to stay, the page stays; then it goes on.
  const checkbox = page.locator('follow-training input');
  await checkbox.focus();
  await page.keyboard.press('Space');
  const stayed = await step();
  for (let times = 0, written = fs.statSync(report).mtimeMs; times < 4; await page.waitForTimeout(20)) {
    if (fs.statSync(report).mtimeMs === written) continue;
    written = fs.statSync(report).mtimeMs;
    ++times;
  }
  assert.equal(await step(), stayed, 'the page is read anew although its reader does not want it');
  await checkbox.focus();
  await page.keyboard.press('Space');
  await read_later(stayed);

  // At the end it has all sections, and stays.
  process.kill(Number(training), 'SIGTERM');
  await page.waitForFunction(() => document.querySelector('main') && !document.querySelector('follow-training'));
  await page.waitForLoadState('load');
  assert.equal(await choose.inputValue(), '1', 'another axis at the end');
  assert.ok(await page.locator('section:has(#context) drawn-figure').count(), 'no context at the end');
  await browser.close();
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
