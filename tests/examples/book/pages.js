// Drives Debian's chromium through all pages of the book, from a disk, as a reader would: with a mouse, with the
// keyboard alone, on a phone, in light and in dark.
//
//     node pages.js BOOK [PAGE…]
//
// BOOK is the folder of the pages. PICTURES=FOLDER keeps screenshots of them. figures/ has a check for each figure that
// does more than its controls show; it is found by the figure's name. Readers mostly wait, so several pages are read at
// a time; those that train are read alone. DELAY=150 makes the library answer that many milliseconds late, as on a slow
// machine, which finds a check that does not wait.

const fs = require('node:fs');
const path = require('node:path');
const zlib = require('node:zlib');
const { check_addresses } = require('./addresses.js');
const { launch } = require('./browser.js');
const { check_page, check_shift, check_width, narrow, note_shifts, take_picture, wide } = require('./page.js');
const { check_controls } = require('./controls.js');
const { check_downloads } = require('./downloads.js');
const { check_old_browsers } = require('./old_browsers.js');
const { check_odd_input } = require('./odd_input.js');
const { moved } = require('../../../examples/book/make/moved.js');
const { check_words } = require('./words.js');
const { settled } = require('./waiting.js');

const [book, ...asked] = process.argv.slice(2);
const most_bytes = 3.6e6;
const at_a_time = 3;
const offences = [];

function offend(where, what) {
  offences.push(`${where}: ${what}`);
  console.log(offences.at(-1));
}

/// All files that a reader downloads, compressed.
function check_size() {
  const fonts = fs.existsSync(path.join(book, 'fonts')) ? fs.readdirSync(path.join(book, 'fonts')) : [];
  const files = fs.readdirSync(book).concat(fonts.map((name) => `fonts/${name}`))
    .filter((name) => /^([^/]*\.(html|css|js)|fonts\/.*)$/.test(name));  // from a disk; over http less
  const sizes = files.map((name) => zlib.gzipSync(fs.readFileSync(path.join(book, name))).length);
  const sum = sizes.reduce((a, b) => a + b, 0);
  console.log(`the book: ${files.length} files, ${(sum / 1e6).toFixed(2)} MB compressed`);
  if (sum > most_bytes) offend('the book', `${sum} bytes compressed, expected at most ${most_bytes}`);
}

/// In the page: its workers get each request late.
function delay_requests(milliseconds) {
  const post = Worker.prototype.postMessage, later = setTimeout;
  Worker.prototype.postMessage = function (...message) { later(() => post.apply(this, message), milliseconds); };
}

/// Opens a page of the book, for a reader who wants no motion. What goes wrong on it, now or later, is an offence.
async function open(browser, name, fragment = '') {
  const page = await browser.newPage({ viewport: wide, reducedMotion: 'reduce' });
  page.on('pageerror', (error) => offend(name, error.message));
  page.on('console', (message) => { if (message.type() === 'error') offend(name, message.text()); });
  page.on('request', (request) => {
    if (!/^(file|data|blob):/.test(request.url())) offend(name, `a request to ${request.url()}`);
  });
  if (process.env.DELAY) await page.addInitScript(delay_requests, Number(process.env.DELAY));
  await page.addInitScript(note_shifts);
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.goto(`file://${path.resolve(book, name)}${fragment}`);
  await page.waitForLoadState('load');
  await settled(page);
  return page;
}

/// A page has the colours that its reader chose before it has anything to paint.
async function check_scheme(browser, name) {
  const page = await browser.newPage();
  await page.addInitScript(() => {
    try { localStorage.setItem('color-scheme', 'dark'); } catch { /* of a page before the first */ }
    new MutationObserver((_, observer) => {
      if (!document.body) return;
      globalThis.scheme_at_first = document.documentElement.style.colorScheme;
      observer.disconnect();
    }).observe(document, { childList: true, subtree: true });
  });
  await page.goto(`file://${path.resolve(book, name)}`);
  const scheme = await page.evaluate(() => globalThis.scheme_at_first);
  if (scheme !== 'dark') offend(name, `its first colours are "${scheme}", expected dark`);
  await page.close();
}

/// The address of a page that has moved leads to where its text is now, also that of a section.
async function check_moved(browser) {
  for (const [name, { page: file, section, kept }] of Object.entries(moved)) {
    if (!fs.existsSync(path.join(book, file))) continue;  // of a report
    const page = await browser.newPage();
    for (const [from, to] of [['', section], ...kept.map((one) => [`#${one}`, one])]) {
      await page.goto(`file://${path.resolve(book, name)}.html${from}`);
      const say = (what) => offend(`${name}.html${from}`, what);
      await page.waitForURL((url) => url.href.endsWith(`/${file}#${to}`)).catch(() => say(`leads to ${page.url()}`));
      if (!await page.locator(`[id="${to}"]`).count()) say(`there is no #${to}`);
    }
    await page.close();
  }
}

/// The specific checks of the figures on a page, in its order: one figure may take up what another has made.
async function check_figures(page, name) {
  const elements = new Set(await page.evaluate(() =>
    [...document.querySelectorAll('main *')].map((one) => one.localName).filter((name) => name.includes('-'))));
  for (const element of elements) {
    const file = path.join(__dirname, 'figures', `${element.replaceAll('-', '_')}.js`);
    if (!fs.existsSync(file)) continue;
    const begin = Date.now();
    const offence = (what) => offend(`${name}: ${element}`, what);
    await require(file)(page, page.locator(`main ${element}`).first(), offence).catch((error) => offence(error.stack));
    console.log(`${name}: ${element} took ${((Date.now() - begin) / 1000).toFixed(1)} s`);
  }
}

/// All checks of one page.
async function read(browser, name) {
  const before = Date.now();
  const say = (what) => offend(name, what);
  const linked = await open(browser, name);
  await check_shift(linked, say);
  await check_addresses(linked, (fragment) => open(browser, name, fragment), say);
  await linked.close();
  const page = await open(browser, name);
  await check_page({ page, name, book, offend: say });
  if (fs.existsSync(path.join(book, 'glossary.html'))) await check_words(page, name, book, say);
  await check_odd_input(page, say);
  const is_changed = await check_controls(page, say);
  if (is_changed) await page.close();
  const fresh = is_changed ? await open(browser, name) : page;
  await check_figures(fresh, name);
  await take_picture(fresh, name, 'used');
  await fresh.setViewportSize(narrow);
  await settled(fresh);
  await check_width(fresh, say);
  await take_picture(fresh, name, 'used-narrow');
  await fresh.close();
  console.log(`${name}: ${((Date.now() - before) / 1000).toFixed(1)} s`);
}

async function main() {
  check_size();
  const browser = await launch();
  const pages = fs.readdirSync(book).filter((name) => name.endsWith('.html'))
    .filter((name) => !(name.slice(0, -5) in moved))
    .filter((name) => asked.length === 0 || asked.includes(name.replace('.html', '')));
  if (pages.length === 0) offend(book, 'no pages');
  if (pages.length) await check_scheme(browser, pages[0]);
  await check_moved(browser);
  if (pages.includes('index.html')) await check_downloads(browser, book, (what) => offend('over http', what));
  if (pages.includes('shift.html')) await check_old_browsers(browser, book, (what) => offend('in an old browser', what));
  const trains = (name) => fs.readFileSync(path.join(book, name), 'utf8').includes('<train-it');
  const together = pages.filter((name) => !trains(name));
  const reader = async () => {
    while (together.length) await read(browser, together.shift());
  };
  await Promise.all(Array.from({ length: at_a_time }, reader));
  for (const name of pages.filter(trains)) await read(browser, name);
  await browser.close();
  console.log([`${offences.length} offences`, ...offences].join('\n'));
  process.exit(offences.length ? 1 : 0);
}

main();
