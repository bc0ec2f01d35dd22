// Each figure has an address that brings it back: its controls are changed, its link is copied by the keyboard and
// opened on a page of its own, and both show the same. Saved as a picture, it has its caption below.

const fs = require('node:fs');
const { settled, until } = require('./waiting.js');

/// In the page: gives a control another value, one step away, as a reader does.
function change(control) {
  const { type, localName } = control;
  if (localName === 'select') control.selectedIndex = control.options.length - 1;
  else if (type === 'checkbox') control.checked = !control.checked;
  else if (type === 'text') control.value = control.value.slice(0, 5);
  else if (type === 'range' || type === 'number') {
    const { value } = control;
    control.stepDown();
    if (control.value === value) control.stepUp();
  }
  for (const event of ['input', 'change']) control.dispatchEvent(new Event(event, { bubbles: true }));
}

/// What a figure shows: its words, in any order, since cells may have come to their places, and its controls.
const shown = (figure) => figure.evaluate((one) => ({
  words: one.innerText.split(/\s+/).sort().join(' '),
  values: [...one.querySelectorAll(':is(input, select, textarea)[name]')].filter((control) => control.checkVisibility())
    .map(({ name, type, value, checked }) => `${name}=${type === 'checkbox' ? checked : value}`),
}));

/// Presses a button of a figure, and waits until it says so.
async function use(page, figure, name, says) {
  await figure.locator(`[name=${name}]`).focus();
  await page.keyboard.press('Enter');
  await figure.locator('.figure-tools [role=status]', { hasText: says }).waitFor();
}

/// The share of a picture's pixels that differ from its first one, in all rows and in those of the caption.
const ink_of = (page, png, height) => page.evaluate(async ({ png, height }) => {
  const image = Object.assign(new Image(), { src: `data:image/png;base64,${png}` });
  await image.decode();
  const canvas = Object.assign(document.createElement('canvas'), { width: image.width, height: image.height });
  const context = canvas.getContext('2d');
  context.drawImage(image, 0, 0);
  const ink = (top) => {
    const pixels = new Uint32Array(context.getImageData(0, top, image.width, image.height - top).data.buffer);
    return pixels.filter((pixel) => pixel !== pixels[0]).length / pixels.length;
  };
  return { width: image.width, all: ink(0), caption: ink(Math.max(0, image.height - height)) };
}, { png, height });

async function check_picture(page, figure, offend) {
  const download = page.waitForEvent('download');
  await use(page, figure, 'save-picture', 'Saved.');
  const file = await (await download).path();
  const { width, caption } = await figure.evaluate((one) => ({
    width: one.offsetWidth,
    caption: one.getBoundingClientRect().bottom - one.querySelector('figcaption').getBoundingClientRect().top,
  }));
  const ink = await ink_of(page, fs.readFileSync(file, 'base64'), 2 * caption);
  if (ink.width < 2 * width) offend(`the picture is ${ink.width} pixels wide, expected ${2 * width}`);
  if (!(Math.min(ink.all, ink.caption) > 0.01))
    offend(`the picture has ${ink.all} of ink, and ${ink.caption} in its caption`);
}

async function check_link(page, open, figure, offend) {
  const controls = figure.locator(':is(input:not([type=hidden]), select)[name]');
  for (let n = 0; n < await controls.count(); ++n) {
    if (!await controls.nth(n).isVisible() || await controls.nth(n).isDisabled()) continue;
    await controls.nth(n).evaluate(change);
    await settled(page);
    await until(page, () => figure.locator('[aria-busy=true]').count(), (busy) => busy === 0);
  }
  await use(page, figure, 'copy-link', 'Copied.');
  const { hash, copied } = await page.evaluate(() => ({ hash: location.hash, copied: globalThis.copied }));
  if (!copied.endsWith(hash)) offend(`copied ${copied}, the page is at ${hash}`);
  const other = await open(hash), id = await figure.getAttribute('id');
  const same = other.locator(`main figure[id="${id}"]`);
  // What says that the link was copied is no part of the figure.
  await figure.evaluate((one) => one.querySelector('.figure-tools [role=status]').replaceChildren());
  const expected = await shown(figure), is_same = (found) => JSON.stringify(found) === JSON.stringify(expected);
  // A figure without controls may follow those of another one.
  const found = expected.values.length ? await until(other, () => shown(same), is_same) : expected;
  if (!is_same(found))
    offend(`${hash} shows ${JSON.stringify(found)}, expected ${JSON.stringify(expected)}`);
  const { top, bottom, height } = await same.evaluate((one) => {
    const { top, bottom } = one.getBoundingClientRect();
    return { top, bottom, height: innerHeight };
  });
  if (top >= height || bottom <= 0) offend(`${hash} is not in view`);
  await other.close();
}

/// `open` opens the page anew at a fragment.
async function check_addresses(page, open, offend) {
  const is_of_book = await page.locator('link[href="book.css"]').count() > 0;
  if (!is_of_book) return;  // a report
  await page.evaluate(() => {
    const write = navigator.clipboard.writeText.bind(navigator.clipboard);
    navigator.clipboard.writeText = (text) => {
      globalThis.copied = text;
      return write(text);
    };
  });
  const nameless = await page.locator('main figure:not(.quote, beat-stage figure, [id])').count();
  if (nameless) offend(`${nameless} figures have no address`);
  const figures = page.locator('main figure[id]');
  for (let n = 0; n < await figures.count(); ++n) {
    const figure = figures.nth(n), id = await figure.getAttribute('id');
    await check_link(page, open, figure, (what) => offend(`${id}: ${what}`));
    await check_picture(page, figure, (what) => offend(`${id}: ${what}`));
  }
}

/// A page of its own at the address of a figure as it is now.
async function opened_again(page, figure) {
  const address = await figure.evaluate(async (one) =>
    (await import('book/figure_address.js')).address_of(one.closest('figure')));
  const other = await page.context().browser().newPage({ reducedMotion: 'reduce' });
  await other.goto(page.url().replace(/#.*/, '') + address);
  return other;
}

module.exports = { check_addresses, opened_again };
