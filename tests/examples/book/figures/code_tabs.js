// <code-tabs>: one language at a time, by the keyboard, the same on the whole page and on the next one, and both for
// those who print (page.js: or have no JavaScript). A term that is pointed at or pressed is marked in both.

const languages = (page) => page.locator('code-tabs > figure').evaluateAll((all) =>
  all.map((one) => `${one.dataset.language} ${one.checkVisibility() ? 'shown' : 'hidden'}`));

async function expect_shown(page, language, when, offend) {
  const wrong = (await languages(page)).filter((one) => one.startsWith(`${language} `) !== one.endsWith('shown'));
  if (wrong.length) offend(`${when}: ${[...new Set(wrong)]}, expected ${language} alone`);
}

/// Code is folded until one asks for it, by the keyboard.
async function unfold(page, offend) {
  for (const fold of await page.locator('details.code-fold').all()) {
    if (await fold.evaluate((one) => one.open)) offend('code shows before anybody asks');
    await fold.locator('> summary').focus();
    await page.keyboard.press('Enter');
    if (!await fold.evaluate((one) => one.open)) offend('Enter does not unfold code');
  }
}

/// In the page: the language that a code of the next page shows at first.
function shown_next(tabs) {
  const next = tabs.cloneNode(true);
  next.querySelector('.controls').remove();
  tabs.after(next);
  const shown = [...next.querySelectorAll('figure')].filter(({ hidden }) => !hidden).map(({ dataset }) => dataset.language).join();
  next.remove();
  return shown;
}

async function check_choice(page, tabs, offend) {
  const top = () => tabs.evaluate((one) => Math.round(one.getBoundingClientRect().top));
  await expect_shown(page, 'C++', 'at first', offend);
  await tabs.locator('input').first().focus();
  const before = await top();
  await page.keyboard.press('ArrowRight');
  await expect_shown(page, 'PyTorch', 'after a press', offend);
  if (Math.abs(await top() - before) > 1) offend(`a press moves it from ${before} to ${await top()}`);
  const next = await tabs.evaluate(shown_next);
  if (next !== 'PyTorch') offend(`on the next page: ${next}, expected PyTorch alone`);
  await page.emulateMedia({ media: 'print' });
  if ((await languages(page)).some((one) => one.endsWith('hidden'))) offend('on paper, a language is missing');
  await page.emulateMedia({ media: 'screen' });
}

/// A button for each term that the code has marks its lines in both languages, and a second press unmarks them.
async function check_terms(page, offend) {
  const buttons = page.locator('code-tabs button');
  for (let n = 0; n < await buttons.count(); ++n) {
    const button = buttons.nth(n), meaning = await button.evaluate((one) => one.classList[1]);
    await button.focus();
    await page.keyboard.press('Space');
    const lines = await button.evaluate((one, meaning) => [...one.closest('code-tabs').querySelectorAll('.code-line')]
      .map((line) => [line.querySelector(`.${meaning}`) !== null, line.classList.contains('marked-term')]), meaning);
    if (!lines.some(([has]) => has) || lines.some(([has, is]) => has !== is))
      offend(`${meaning}: other lines are marked`);
    await page.keyboard.press('Space');
    await button.evaluate((one) => one.blur());
    if (await page.locator('.code-line.marked-term').count()) offend(`${meaning}: lines stay marked`);
  }
}

/// An equation's term marks the same term elsewhere, and the numbers of a worked example.
async function check_pointing(page, offend) {
  const name = 'means-content-content';
  const term = page.locator(`.katex .${name}`).first();
  if (!await term.count()) return;
  await term.hover();
  const { lines, cells, tables } = await page.evaluate((name) => ({
    lines: document.querySelectorAll(`.code-line:not(.marked-term) .${name}`).length,
    cells: document.querySelectorAll('td.of-pair.marked-term').length,
    tables: document.querySelectorAll(`caption .${name}`).length,
  }), name);
  if (lines) offend(`${lines} lines of ${name} are not marked`);
  if (tables && !cells) offend(`no numbers of ${name} are marked`);
  await page.mouse.move(0, 0);
}

module.exports = async (page, figure, offend) => {
  await unfold(page, offend);
  await check_choice(page, figure, offend);
  await check_terms(page, offend);
  await check_pointing(page, offend);
};
