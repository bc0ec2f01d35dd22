// Each figure has an address that brings it back: its controls are changed, its link is copied by the keyboard and
// opened on a page of its own, and both show the same. Its picture shows what the page shows.

const fs = require('node:fs');
const { settled, until } = require('./waiting.js');

const most_different = 0.02;  // of a picture's squares, where edges are drawn otherwise

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

/// In the page: how far two pictures are apart. Each is cut into squares of some pixels, and what counts is the share of
/// squares, of those with anything in either, whose mean colour differs by more than a shade: letters at other places
/// do, and those that are drawn a little thicker do not.
async function compare(pictures) {
  const side = 16, shade = 24;
  const images = await Promise.all(pictures.map(async (png) => {
    const image = Object.assign(new Image(), { src: `data:image/png;base64,${png}` });
    await image.decode();
    return image;
  }));
  const [columns, rows] = ['width', 'height'].map((of) => Math.floor(Math.min(...images.map((image) => image[of])) / side));
  const [a, b] = images.map((image) => {
    const context = Object.assign(document.createElement('canvas'), { width: columns * side, height: rows * side }).getContext('2d');
    context.drawImage(image, 0, 0);
    const { data } = context.getImageData(0, 0, columns * side, rows * side), sums = new Float64Array(columns * rows * 3);
    for (let y = 0, n = 0; y < rows * side; ++y)
      for (let x = 0; x < columns * side; ++x, n += 4) {
        const square = 3 * (Math.floor(y / side) * columns + Math.floor(x / side));
        for (let channel = 0; channel < 3; ++channel) sums[square + channel] += data[n + channel];
      }
    return sums.map((sum) => sum / side ** 2);
  });
  const apart = (x, y, n, m) => Math.max(...[0, 1, 2].map((channel) => Math.abs(x[3 * n + channel] - y[3 * m + channel])));
  let inked = 0, different = 0;
  for (let n = 0; n < columns * rows; ++n) {
    if (Math.max(apart(a, a, n, 0), apart(b, b, n, 0)) < shade / 4) continue;
    ++inked;
    different += apart(a, b, n, n) > shade;
  }
  return { sizes: images.map((image) => [image.width, image.height]), inked, share: different / inked };
}

/// In the page: takes away what the picture leaves out, and what is there for a page that moves. Returns the figure's box,
/// which begins with a whole pixel.
async function strip(figure) {
  const { left_out } = await import('book/figure_picture.js');
  const style = document.head.appendChild(document.createElement('style')), id = CSS.escape(figure.id);
  style.id = 'as-in-a-picture';
  style.textContent = `#${id} :is(${left_out}) { display: none !important; }
    main #${id} { border-radius: 0; }
    .where { position: static !important; }
    main #${id} > * { min-height: 0 !important; }
    .book #${id} :is(.wide, table) { overflow: visible; background: none; }
    chorale-duet :is(.written, .off-beat) { visibility: visible !important; width: revert-layer !important; }
    chorale-duet .so-far { display: none !important; }
    chorale-duet .whole { display: inline !important; }`;
  const [left, top] = [figure.getBoundingClientRect().x + scrollX, figure.getBoundingClientRect().y + scrollY];
  const [x, y] = [left, top].map(Math.floor);
  style.textContent += `main #${id} { position: relative; left: ${x - left}px; top: ${y - top}px; }`;
  const { width, height } = figure.getBoundingClientRect();
  return { x, y, width, height };
}

/// The figure as one sees it, without its controls, as sharp as its picture.
async function seen(page, figure) {
  const clip = await figure.evaluate(strip);
  const session = await page.context().newCDPSession(page);
  const { data } = await session.send('Page.captureScreenshot', {
    format: 'png', optimizeForSpeed: true, captureBeyondViewport: true, clip: { ...clip, scale: 2 },
  });
  await session.detach();
  await page.evaluate(() => document.getElementById('as-in-a-picture').remove());
  return data;
}

/// In the page: the book's typefaces of a figure that its pictures lack. What stands for one of them may be as wide.
function lacked_typefaces(figure) {
  const faces = [...shiftgrad_looks.matchAll(/@font-face\s*\{[^}]*?font-family:\s*["']?([^;"'}]+)/g)].map(([, family]) => family);
  const own = new Set([...document.fonts].map(({ family }) => family.replaceAll('"', '')));
  const words = [...figure.querySelectorAll('*')].filter((one) => one.checkVisibility() &&
    [...one.childNodes].some(({ nodeType, data }) => nodeType === 3 && data.trim()));
  const used = new Set(words.map((one) => getComputedStyle(one).fontFamily.split(',')[0].replaceAll('"', '')));
  return [...used].filter((family) => own.has(family) && !faces.includes(family));
}

/// A picture shows what the page shows, its text included, and no more.
async function check_picture(page, figure, offend) {
  const download = page.waitForEvent('download');
  await use(page, figure, 'save-picture', 'Saved.');
  const saved = fs.readFileSync(await (await download).path(), 'base64');
  const lacked = await figure.evaluate(lacked_typefaces);
  if (lacked.length) offend(`the picture lacks ${lacked}`);
  const { sizes: [[width, height], [seen_width, seen_height]], inked, share } = await page.evaluate(compare, [saved, await seen(page, figure)]);
  if (Math.abs(width - seen_width) > 2 || Math.abs(height - seen_height) > 4)
    offend(`the picture has ${width} times ${height} pixels, expected ${seen_width} times ${seen_height}`);
  if (inked < 50 || share > most_different) offend(`the picture differs in ${(100 * share).toFixed(1)} % of ${inked} squares from what the page shows`);
}

async function check_link(page, at, figure, offend) {
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
  const other = await at(hash), id = await figure.getAttribute('id');
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
}

/// `open` opens the page anew at a fragment. One page serves all figures: each begins there as it does on a new one, and
/// goes to its address as a reader does who follows a link.
async function check_addresses(page, open, offend) {
  let other;
  const at = async (hash) => {
    if (!other) return other = await open(hash);
    await other.evaluate((hash) => { location.hash = hash; }, hash);
    await settled(other);
    return other;
  };
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
    await check_link(page, at, figure, (what) => offend(`${id}: ${what}`));
    await check_picture(page, figure, (what) => offend(`${id}: ${what}`));
  }
  await other?.close();
}

/// A page of its own at the address of a figure as it is now.
async function opened_again(page, figure) {
  const address = await figure.evaluate(async (one) =>
    (await import('book/figure_address.js')).address_of(one.closest('figure')));
  const other = await page.context().browser().newPage({ reducedMotion: 'reduce' });
  await other.goto(page.url().replace(/#.*/, '') + address);
  return other;
}

module.exports = { check_addresses, check_picture, opened_again };
