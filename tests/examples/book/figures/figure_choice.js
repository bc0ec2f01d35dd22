// <figure-choice>, in the reports that char_lm and seq2seq write: its selects and small maps show other figures, its maps move
// together and mark the text, all of that by the keyboard. The figures themselves are checked by drawn_figure.js.

async function check_maps(page, section, offend) {
  if (!await section.locator('drawn-figure').count()) return;
  const visible = () => section.locator('drawn-figure:visible');
  const title = () => visible().first().locator('.title').textContent();
  const before = await title();
  for (const name of ['layer', 'head']) {
    const select = section.locator(`select[name=${name}]`);
    if (!await select.count()) continue;
    await select.focus();
    await page.keyboard.press('ArrowDown');
  }
  if (await title() === before) offend(`"layer" and "head" show "${before}" still`);
  await visible().first().locator('[tabindex]').focus();
  for (const key of ['ArrowUp', 'ArrowRight']) await page.keyboard.press(key);
  const names = await visible().evaluateAll((all) => all.map((one) => one.names));
  const said = await visible().locator('output').allTextContents();
  for (const [n, text] of said.entries())
    if ((names[n] === names[0]) !== (text !== '')) offend(`map ${n} says "${text}" while the first says "${said[0]}"`);
  const marked = await section.locator('.tokens:visible .marked').allTextContents();
  if (!marked.length || marked.length % 2) offend(`the tokens ${marked} are marked, expected queries and keys`);
  const query = said[0].match(/query \d+ “([^]*?)”/)?.[1], key = said[0].match(/key \d+ “([^]*?)”/)?.[1];
  if (marked[0] !== query || marked[1] !== key) offend(`${said[0]}, but ${marked} are marked`);
}

/// A small map shows its head large, and says that it does.
async function check_heads(page, section, offend) {
  const buttons = section.locator('.heads:visible').first().locator('button');
  if (!await buttons.count()) return;
  for (const at of [await buttons.count() - 1, 0]) {
    await buttons.nth(at).focus();
    await page.keyboard.press('Enter');
    const name = (await buttons.nth(at).getAttribute('aria-label')).replace('layer ', '');
    const title = await section.locator('drawn-figure:visible .title').first().textContent();
    if (!title.endsWith(name)) offend(`the small map ${name} shows "${title}"`);
    const pressed = await section.locator('.heads:visible').first().locator('[aria-pressed=true]').count();
    if (pressed !== 1) offend(`${pressed} small maps are pressed`);
  }
  const empty = await buttons.locator('svg').evaluateAll((all) =>
    all.filter((svg) => !svg.getBoundingClientRect().height || !document.querySelector(svg.querySelector('use').getAttribute('href'))).length);
  if (empty) offend(`${empty} small maps are empty`);
}

/// On a desk nothing of a report of one run scrolls sideways, nor do the maps of several.
async function check_room(page, offend) {
  const alone = await page.locator('.facts').count();
  const scrolling = await page.locator(alone ? '.wide:visible, figure:visible' : 'figure:visible').evaluateAll((all) =>
    all.filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.outerHTML.slice(0, 60)));
  for (const one of scrolling) offend(`${one} has a scroll bar`);
}

/// Flags with their defaults are folded.
async function check_flags(page, offend) {
  const section = page.locator('section:has(#flags)'), folded = section.locator('details');
  if (!await folded.count()) return;
  const rows = () => section.locator('tr:visible').count();
  const differing = await rows();
  await folded.locator('summary').focus();
  await page.keyboard.press('Enter');
  if (await rows() <= differing) offend(`${differing} rows of flags, then ${await rows()}`);
}

module.exports = async (page, figure, offend) => {
  const sections = await page.locator('.sections a').allTextContents();
  for (const name of ['Summary', 'Loss', 'Attention', 'Flags', 'Parameters'])
    if (!sections.includes(name)) offend(`no section ${name} in ${sections}`);
  await check_maps(page, page.locator('section:has(#attention)'), offend);
  await check_heads(page, page.locator('section:has(#attention)'), offend);
  await check_room(page, offend);
  await check_flags(page, offend);
  const details = page.locator('section:has(#parameters) details').first();
  await details.evaluate((one) => { one.open = true; });
  const tensors = parseInt((await details.locator('summary').textContent()).match(/(\d+) tensors/)[1]);
  if (await details.locator('tr').count() !== tensors + 1) offend('not all parameters are listed');
};
