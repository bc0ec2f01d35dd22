// The book over http, where the network fails. The first take of the chorales plays without anything more from there; the
// library comes as it is, not in base64; what did not arrive is asked for again by the next press.

const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const { count_oscillators } = require('./figures/chorale_player.js');

const kinds = { html: 'text/html', css: 'text/css', js: 'text/javascript', wasm: 'application/wasm', woff2: 'font/woff2' };

/// Serves the book's files. Returns its address, what was asked for, and a switch: while it is off, nothing arrives.
async function served(book) {
  const state = { on: true, asked: [] };
  const server = http.createServer((request, response) => {
    const name = path.basename(request.url), file = path.join(book, request.url);
    state.asked.push(name);
    if (!state.on || !fs.existsSync(file)) return request.socket.destroy();
    response.setHeader('Content-Type', kinds[name.split('.').at(-1)] ?? 'application/octet-stream');
    fs.createReadStream(file).pipe(response);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { state, address: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}

/// The front page: all bars of the first take play while nothing arrives. "Play again" says what is missing, and works
/// once it arrives.
async function check_duet(page, state, offend) {
  const figure = page.locator('chorale-duet'), play = figure.locator('[name=play]'), alert = figure.locator('[role=alert]');
  const move = (to) => page.evaluate((to) => { globalThis.time = to; }, to);
  await page.evaluate(() => { globalThis.time = 0; performance.now = () => globalThis.time; });
  state.on = false;
  state.asked.length = 0;
  await play.press('Enter');
  await move(7000);
  await figure.locator('.status', { hasText: 'came with the page' }).waitFor();
  if (!state.asked.includes('study.wasm') || !state.asked.includes('weights.js')) offend(`the first press asks for ${state.asked}`);
  await move(60000);
  await figure.locator('.status', { hasText: 'write other notes' }).waitFor();
  if (await alert.isVisible()) offend(`the first take says ${await alert.textContent()}`);
  const before = await figure.evaluate((one) => one.texts);
  await play.press('Enter');
  await move(120000);
  await alert.waitFor();
  const said = await alert.textContent();
  if (!/^\S+ did not arrive. Once you are online, try again\.$/.test(said)) offend(`a reader reads ${said}`);
  state.on = true;
  await play.press('Enter');
  await move(180000);
  await figure.locator('.status', { hasText: 'these notes are new' }).waitFor();
  if (await alert.isVisible()) offend(`it says ${await alert.textContent()} although all is there`);
  const after = await figure.evaluate((one) => one.texts);
  for (const [name, text] of Object.entries(after)) if (text === before[name]) offend(`the ${name} model writes the same again`);
  await play.press('Enter');
}

/// A figure that lacks the library says so, and shows its numbers once a control is changed and all is there.
async function check_figure(page, address, offend) {
  let missing = true;
  await page.route('**/study.wasm', (route) => missing ? route.abort() : route.continue());
  await page.goto(`${address}/shift.html`);
  const figure = page.locator('shift-figure').first();
  await figure.locator('[role=alert]', { hasText: 'study.wasm did not arrive' }).waitFor();
  missing = false;
  await figure.locator('[name=t]:not(output)').press('ArrowRight');
  await figure.locator('.field-cell').first().waitFor();
  if (await figure.locator('[role=alert]').isVisible()) offend('a figure complains although all is there');
}

async function check_downloads(browser, book, offend) {
  const { state, address, close } = await served(book);
  const page = await browser.newPage({ reducedMotion: 'reduce' });
  await page.addInitScript(count_oscillators);
  page.on('pageerror', (error) => offend(error.message));
  await page.goto(`${address}/index.html`);
  const first = state.asked.filter((name) => /^(serif|sans)(-bold)?\.woff2$/.test(name) || !/html|css|^components.js|^copy-tex.js/.test(name)).slice(0, 4);
  if (first.some((name) => !name.endsWith('.woff2'))) offend(`beside its styles it asks first for ${first}, expected fonts`);
  if (new Set(state.asked).size < state.asked.length) offend(`it asks twice: ${state.asked}`);
  await check_duet(page, state, offend);
  await check_figure(page, address, offend);
  if (state.asked.includes('study_wasm.js')) offend('over http the library comes in base64');
  await page.close();
  close();
}

module.exports = { check_downloads, served };
