// <coming-from>: each source leaves some of the page and hides some, each page is about a source, and the address keeps
// the choice. An address of something hidden shows all.

const { settled } = require('../waiting.js');

const heads = (page) => page.locator('#page-by-page ~ h3').evaluateAll((all) => {
  const end = document.querySelector('#page-by-page ~ h2');
  return all.filter((one) => one.compareDocumentPosition(end) & Node.DOCUMENT_POSITION_FOLLOWING)
    .map((one) => ({ title: one.textContent, shown: one.checkVisibility(), id: one.id }));
});
const shown = async (page) => (await heads(page)).filter((one) => one.shown).map(({ title }) => title);

module.exports = async (page, figure, offend) => {
  const all = await shown(page), select = figure.locator('select'), reached = new Set();
  const rows = () => page.locator('main > .wide > table :is(td, th)')
    .evaluateAll((cells) => cells.filter((one) => one.checkVisibility()).length);
  const cells = await rows();
  const names = await select.locator('option').evaluateAll((options) => options.map(({ value }) => value));
  await select.focus();
  for (const name of names.slice(1)) {
    await page.keyboard.press('ArrowDown');
    const left = await shown(page);
    for (const title of left) reached.add(title);
    if (await select.inputValue() !== name) offend(`a press chooses ${await select.inputValue()}, expected ${name}`);
    if (left.length === all.length || await rows() >= cells) offend(`${name} hides nothing`);
    if (!await page.evaluate((name) => new URLSearchParams(location.search).get('from') === name, name))
      offend(`the address of ${name} is ${page.url()}`);
  }
  for (const title of all) if (!reached.has(title)) offend(`no source leads to "${title}"`);
  await page.reload();
  await settled(page);
  const kept = await select.inputValue();
  if (kept !== names.at(-1)) offend(`its address chooses "${kept}", expected ${names.at(-1)}`);
  const { id } = (await heads(page)).find((one) => !one.shown);
  await page.evaluate((id) => { location.hash = id; }, id);
  await page.waitForFunction((id) => document.getElementById(id).checkVisibility(), id)
    .catch(() => offend(`#${id} stays hidden`));
  if ((await shown(page)).length !== all.length) offend('something stays hidden');
};
