// The book in browsers of before 2024: without import maps or WebAssembly figures show how they begin, and one sentence
// says so. Without light-dark() there are colours that can be told apart. Without checkVisibility figures have addresses.

const { served } = require('./downloads.js');
const { check_contrast, narrow } = require('./page.js');
const { settled } = require('./waiting.js');

const lacking = {
  'import maps': () => { delete HTMLScriptElement.supports; },
  WebAssembly: () => { delete globalThis.WebAssembly; },
};

async function opened(browser, address, init, offend) {
  const page = await browser.newPage({ viewport: narrow, reducedMotion: 'reduce' });
  page.on('pageerror', (error) => offend(error.message));
  await page.addInitScript(init);
  await page.goto(address);
  return page;
}

async function check_figures(browser, address, what, offend) {
  const say = (text) => offend(`without ${what}, ${text}`);
  const page = await opened(browser, `${address}/shift.html`, lacking[what], say);
  const { empty, said } = await page.evaluate(() => ({
    empty: [...document.querySelectorAll('main figure[id]')].filter((figure) => {
      const state = figure.querySelector('.first-state');
      return !state?.checkVisibility() || !state.innerText.trim();
    }).map(({ id }) => id),
    said: [...document.querySelectorAll('.without-scripts')].filter((one) => one.checkVisibility()).map(({ textContent }) => textContent),
  }));
  if (empty.length) say(`the figures ${empty} are empty`);
  if (said.length !== 1 || !said[0].includes('older than what figures need')) say(`it says ${JSON.stringify(said)}`);
  if (await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)) say('it is wider than a phone');
  await page.close();
}

async function check_colors(browser, address, offend) {
  const page = await opened(browser, `${address}/shift.html`, () => { delete Element.prototype.checkVisibility; }, offend);
  await settled(page);
  const hash = await page.evaluate(async () =>
    (await import('book/figure_address.js')).address_of(document.getElementById('shift-figure')));
  if (!/^#shift-figure\?way=/.test(hash)) offend(`a figure's address is ${hash}`);
  await page.close();
  const plain = await opened(browser, `${address}/shift.html`, () => {}, offend);
  await settled(plain);
  await plain.evaluate(() => {
    for (const sheet of document.styleSheets)
      for (let n = sheet.cssRules.length - 1; n >= 0; --n)
        if (sheet.cssRules[n] instanceof CSSSupportsRule) sheet.deleteRule(n);
  });
  const papers = new Set();
  for (const colorScheme of ['dark', 'light']) {
    await plain.emulateMedia({ colorScheme });
    papers.add(await plain.evaluate(() => getComputedStyle(document.body).backgroundColor));
    await check_contrast(plain, `${colorScheme}, without light-dark()`, offend);
  }
  if (papers.size !== 2 || [...papers].some((color) => color.endsWith(', 0)'))) offend(`the paper is ${[...papers]}`);
  await plain.close();
}

async function check_old_browsers(browser, book, offend) {
  const { address, close } = await served(book);
  for (const what of Object.keys(lacking)) await check_figures(browser, address, what, offend);
  await check_colors(browser, address, offend);
  close();
}

module.exports = { check_old_browsers };
