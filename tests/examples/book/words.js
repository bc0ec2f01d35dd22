// Words of the glossary on the pages of the book.

const fs = require('node:fs');
const path = require('node:path');
const { ambiguous } = require('../../../examples/book/make/glossary.js');

/// A press says what a word is, and the page stays. A link leads on; Escape, a press elsewhere or another one closes it.
async function check_bubble(page, word, title, offend) {
  const address = page.url(), bubble = page.locator('.glossary-bubble');
  for (const close of [() => page.keyboard.press('Escape'), () => page.locator('h1').click(), () => word.press('Enter')]) {
    await word.press('Enter');
    if (await bubble.count() !== 1 || !(await bubble.textContent()).startsWith(title)) offend(`pressed, ${await word.textContent()} does not say ${title}`);
    const link = await bubble.locator('a').getAttribute('href');
    if (link !== await word.getAttribute('href')) offend(`the bubble leads to ${link}`);
    await close();
    if (await bubble.count()) offend('a bubble stays');
  }
  if (page.url() !== address) offend(`a word of the glossary leads to ${page.url()}`);
}

/// A word of the glossary has its definition where the page first uses it, unless it is set off or linked there.
async function check_words(page, name, book, offend) {
  if (['index.html', 'glossary.html'].includes(name)) return;
  const row = /<td id="word-[^"]*">([^<]*)<\/td>\s*<td>([^]*?)<\/td>/g;
  const rows = [...fs.readFileSync(path.join(book, 'glossary.html'), 'utf8').matchAll(row)];
  if (!rows.length) offend('the glossary has no words');
  const words = rows.filter(([, , text]) => !text.includes(`"${name}"`)).flatMap(([, names]) => names.split(', '));
  const { unsaid, untold } = await page.evaluate((words) => {
    const texts = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT);
    const left = new Set(words), unsaid = [];
    for (let text; text = texts.nextNode();) {
      const parent = text.parentElement;
      if (!parent.closest('p, li') || parent.closest('code, figure, table, svg, .katex, exercise-check')) continue;
      for (const word of left) {
        const [found] = new RegExp(`(?<![\\w-])${word}(?:e?s)?(?![\\w-])`, 'i').exec(text.data) ?? [];
        if (!found) continue;
        left.delete(word);
        if (!parent.closest('a, em, strong, summary')) unsaid.push(`${word} in "${text.data.trim().slice(0, 60)}"`);
      }
    }
    const untold = [...document.querySelectorAll('.glossary-word')].filter(({ title }) => !title);
    return { unsaid, untold: untold.map(({ textContent }) => textContent) };
  }, words.filter((word) => !ambiguous.includes(word)));
  for (const word of unsaid) offend(`nothing says what is ${word}`);
  for (const word of untold) offend(`${word} has no definition`);
  const first = page.locator('.glossary-word').first();
  if (!await first.count()) return;
  await first.focus();
  await page.keyboard.press('Shift+Tab');
  await page.keyboard.press('Tab');
  const said = await first.evaluate((one) => getComputedStyle(one, '::after').content);
  const title = await first.getAttribute('title');
  if (!said.includes(title.slice(0, 10))) offend(`with the focus, ${await first.textContent()} says ${said}`);
  await check_bubble(page, first, title, offend);
}

module.exports = { check_words };
