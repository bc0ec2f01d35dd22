// <figure-choice>, in the reports that char_lm and seq2seq write: its selects show other figures, its maps move
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

async function check_losses(page, section, offend) {
  const title = () => section.locator('drawn-figure:visible .title').textContent();
  const before = await title();
  await section.locator('[name=kind]').focus();
  await page.keyboard.press('ArrowDown');
  if (await title() === before) offend(`"kind" shows "${before}" still`);
}

async function check_flags(page, offend) {
  const section = page.locator('section:has(#flags)'), box = section.locator('[name=all]');
  if (!await box.count()) return;
  const rows = () => section.locator('tr:visible').count();
  const differing = await rows();
  await box.focus();
  await page.keyboard.press('Space');
  const all = await section.locator('tr').count();
  if (await rows() !== all || differing >= all) offend(`${differing} rows of flags, then ${await rows()} of ${all}`);
}

module.exports = async (page, figure, offend) => {
  const sections = await page.locator('.sections a').allTextContents();
  for (const name of ['Runs', 'Loss', 'Attention', 'Flags', 'Parameters'])
    if (!sections.includes(name)) offend(`no section ${name} in ${sections}`);
  await check_maps(page, page.locator('section:has(#attention)'), offend);
  await check_losses(page, page.locator('section:has(#loss)'), offend);
  await check_flags(page, offend);
  const details = page.locator('details').first();
  await details.evaluate((one) => { one.open = true; });
  const tensors = parseInt((await details.locator('summary').textContent()).match(/(\d+) tensors/)[1]);
  if (await details.locator('tr').count() !== tensors + 1) offend('not all parameters are listed');
};
