// What every page has to be: readable at any width and in both colour schemes, named for those who do not see it,
// and within reach of the keyboard.

const fs = require('node:fs');
const path = require('node:path');
const { alike } = require('./eyes.js');
const { settled } = require('./waiting.js');

const wide = { width: 1280, height: 900 }, narrow = { width: 360, height: 740 };
const least_contrast = 4.5;  // WCAG 2.2, 1.4.3
const least_edge = 3;  // of what one presses, 1.4.11
const least_height = 32;  // pixels of it on a phone
const most_shift = 0.1;  // of a good page by web.dev, Cumulative Layout Shift
const lines = { least: 65, most: 75 };  // characters of a full line
const most_headings = 5;  // of a chapter that has no stage
const most_empty = 4;  // pixels below what a figure begins with

/// Nothing is wider than the window: a phone, or a desk's.
async function check_width(page, offend) {
  const { width, wide } = await page.evaluate(() => {
    const most = document.documentElement.clientWidth, width = document.documentElement.scrollWidth;
    if (width <= most) return { wide: [] };
    const inside = (one) => {
      for (let parent = one.parentElement; parent; parent = parent.parentElement)
        if (['auto', 'scroll', 'hidden'].includes(getComputedStyle(parent).overflowX)) return true;
      return false;
    };
    return { width, wide: [...document.querySelectorAll('body *')]
      .filter((one) => one.getBoundingClientRect().right > most + 0.5 && !inside(one))
      .map((one) => `${one.localName}.${one.className}`).slice(0, 5) };
  });
  if (width) offend(`${width} pixels wide in ${page.viewportSize().width}: ${wide.join(', ')}`);
}

/// On a desk nothing has a scroll bar of its own that goes sideways.
async function check_scroll_bars(page, offend) {
  const wide = await page.evaluate(() => {
    const folds = document.querySelectorAll('.code-fold');
    for (const fold of folds) fold.open = true;
    const found = [...document.querySelectorAll('body *')]
      .filter((one) => ['auto', 'scroll'].includes(getComputedStyle(one).overflowX) && one.scrollWidth > one.clientWidth + 1)
      .map((one) => `${one.localName}.${one.className} "${one.textContent.trim().slice(0, 40)}"`);
    for (const fold of folds) fold.open = false;
    return found;
  });
  for (const what of wide) offend(`${what} goes on beyond its right edge`);
}

/// A full line of text is as long as one reads with ease, and the typeface is the book's own.
async function check_column(page, offend) {
  const { counts, loaded } = await page.evaluate(async () => {
    await document.fonts.ready;
    const counts = [], range = document.createRange();
    for (const one of document.querySelectorAll('main > p')) {
      if (one.querySelector('.katex, code, exercise-check')) continue;  // their characters have other widths
      const { top } = one.getBoundingClientRect(), height = parseFloat(getComputedStyle(one).lineHeight);
      const counted = new Map(), texts = document.createTreeWalker(one, NodeFilter.SHOW_TEXT);
      for (let text; text = texts.nextNode();)
        for (let n = 0; n < text.length; ++n) {
          range.setStart(text, n);
          range.setEnd(text, n + 1);
          const box = range.getClientRects()[0];
          const line = box && Math.floor(((box.top + box.bottom) / 2 - top) / height);
          if (box) counted.set(line, (counted.get(line) ?? 0) + 1);
        }
      counts.push(...[...counted.values()].slice(0, -1));  // the last line ends where the paragraph does
    }
    return { counts: counts.sort((a, b) => a - b), loaded: [...document.fonts].filter(({ status }) => status === 'loaded').map(({ family }) => family) };
  });
  const middle = counts[Math.floor(counts.length / 2)];
  if (middle < lines.least || middle > lines.most)
    offend(`a line has ${middle} characters, expected ${lines.least} to ${lines.most}`);
  for (const family of ['Book Serif', 'Book Sans'])
    if (!loaded.some((one) => one.includes(family))) offend(`${family} is not loaded`);
}

/// Notes stand beside the text on a desk and within it on a phone, and cover nothing.
async function check_notes(page, offend) {
  const wrong = await page.evaluate((wide) => {
    const box = (one) => one.getBoundingClientRect();
    const column = document.querySelector('main > p');
    return [...document.querySelectorAll('main aside')].flatMap((note) => {
      const beside = box(note).left >= box(column).right;
      const covered = [...document.querySelectorAll('main > *')].filter((one) => one !== note && !one.contains(note))
        .filter((one) => box(one).left < box(note).right && box(one).right > box(note).left &&
          box(one).top < box(note).bottom - 1 && box(one).bottom > box(note).top + 1);
      return beside === wide && !covered.length ? [] : [`${note.textContent.trim().slice(0, 30)} ${beside} ${covered.map(({ localName }) => localName)}`];
    });
  }, page.viewportSize().width === wide.width);
  for (const note of wrong) offend(`the note "${note}" is not ${page.viewportSize().width === wide.width ? 'in the margin' : 'in the text'}, or covers something`);
}

/// A page begins with a figure that shows something.
async function check_opening(page, offend) {
  const shows = await page.waitForFunction(() => {
    const figure = document.querySelector('main figure'), heading = document.querySelector('main h2');
    const is_before = figure && (!heading || figure.compareDocumentPosition(heading) & Node.DOCUMENT_POSITION_FOLLOWING);
    return Boolean(is_before && figure.querySelector('.field-cell, svg, td, .track, [name=train]'));
  }).catch(() => null);
  if (!shows) offend('no figure before the first heading');
}

/// A chapter has figures that work: four for 2000 words.
async function check_figures(page, offend) {
  const { words, figures } = await page.evaluate(() => {
    const text = document.querySelector('main').cloneNode(true);
    for (const one of text.querySelectorAll('figure, pre, table, .katex, exercise-check')) one.remove();
    const working = [...document.querySelectorAll('main figure')].filter((one) =>
      [...one.children].some(({ localName }) => localName.includes('-') || localName === 'svg'));
    return { words: text.textContent.split(/\s+/).length, figures: working.length };
  });
  if (figures < words / 500) offend(`${figures} figures for ${words} words`);
}

/// A chapter has few main headings, or one for each picture of its stage, and the contents of the page list them.
async function check_headings(page, offend) {
  const pictures = await page.locator('beat-stage > figure').count();
  const { headings, listed } = await page.evaluate(() => ({
    headings: [...document.querySelectorAll('main h2')].map(({ id }) => `#${id}`),
    listed: [...document.querySelectorAll('.on-page a')].map(({ hash }) => hash),
  }));
  if (pictures ? headings.length !== pictures : headings.length > most_headings)
    offend(`${headings.length} main headings, expected ${pictures || `at most ${most_headings}`}`);
  if (headings.join() !== listed.join()) offend(`the contents list ${listed.join()}, expected ${headings.join()}`);
}

/// The chapters of the straight way have the whole score at their top, and each part of it lights up on one of them.
async function check_where(page, name, offend) {
  const expected = {
    'attention.html': 'q·k', 'positions.html': 'q·r,u·k,v·r', 'shift.html': 'shifted to keys',
    'memory.html': 'with a memory',
  }[name];
  const [lit, parts] = await page.evaluate(() =>
    ['.where .here', '.where a'].map((one) => [...document.querySelectorAll(one)].map(({ textContent }) => textContent).join()));
  if (expected && lit !== expected || !expected && lit !== parts) offend(`of ${parts}, ${lit} is marked, expected ${expected ?? 'all or nothing'}`);
  // Where one reads of a part, it lights up, and the line is in sight.
  const dark = await page.evaluate(async () => {
    const frame = () => new Promise(requestAnimationFrame), dark = [];
    for (const part of document.querySelectorAll('.where a')) {
      const meaning = [...part.classList].find((name) => name.startsWith('means-'));
      const named = [...document.querySelectorAll(`main > p .katex .${meaning}`)].find((one) => one.checkVisibility());
      if (!named) continue;
      scrollBy({ top: named.getBoundingClientRect().top - innerHeight / 3, behavior: 'instant' });
      for (let n = 0; n < 3; ++n) await frame();
      const { top } = part.getBoundingClientRect();
      if (!part.classList.contains('lit') || top < 0 || top > innerHeight) dark.push(part.textContent);
    }
    scrollTo({ top: 0, behavior: 'instant' });
    return dark;
  });
  if (dark.length) offend(`${dark} stay dark where the text names them`);
}

/// On a phone a table that ends in remarks, or is turned, fits, and no line of a table's head ends within a word.
async function check_tables(page, offend) {
  const wrong = await page.evaluate(() => {
    const range = document.createRange(), lines_of = (text, begin, end) => {
      range.setStart(text, begin);
      range.setEnd(text, end);
      return new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size;
    };
    const cut = [...document.querySelectorAll('main :is(.remarks, .turned)')].filter((one) => one.scrollWidth > one.clientWidth)
      .map((one) => `the table "${one.textContent.trim().slice(0, 20)}" is cut`);
    const broken = [...document.querySelectorAll('main .wide th')].flatMap((one) => [...one.childNodes].filter((node) => node.nodeType === 3)
      .flatMap((text) => [...text.data.matchAll(/\p{L}+/gu)].filter(({ 0: word, index }) => lines_of(text, index, index + word.length) > 1)))
      .map(([word]) => `"${word}" is broken in the head of a table`);
    return [...cut, ...broken];
  });
  for (const what of wrong) offend(what);
}

/// On a phone a finger finds what one presses.
async function check_fingers(page, offend) {
  const small = await page.evaluate((least) => [...document.querySelectorAll('button, select, textarea, summary, input')]
    .map((one) => one.matches('[type=checkbox], [type=radio]') ? one.closest('label') ?? one : one)
    .map((one) => [one, one.getBoundingClientRect().height]).filter(([one, height]) => one.checkVisibility() && height < least)
    .map(([one, height]) => `${one.outerHTML.slice(0, 60)} is ${height.toFixed(0)} pixels high`), least_height);
  for (const what of new Set(small)) offend(`on a phone, ${what}, expected ${least_height}`);
}

/// No line begins with a mark, which belongs to the equation before it.
async function check_marks(page, offend) {
  const lonely = await page.evaluate(() => {
    const range = document.createRange();
    return [...document.querySelectorAll('main .katex')].flatMap((one) => {
      const next = one.nextSibling;
      if (!/^[.,;:!?)]/.test(next?.data ?? '') || !one.checkVisibility()) return [];
      range.setStart(next, 0);
      range.setEnd(next, 1);
      return range.getBoundingClientRect().left < one.getBoundingClientRect().left ? [next.data.slice(0, 20)] : [];
    });
  });
  for (const text of lonely) offend(`a line begins with "${text}"`);
}

/// No Markdown is left: no *word* and no $equation$ outside of code.
async function check_markdown(page, offend) {
  const left = await page.evaluate(() => {
    const found = [], texts = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT);
    for (let text; text = texts.nextNode();)
      if (!text.parentElement.closest('code, pre, textarea, svg, .katex, script') && /\*[^\s*][^*]*\*|\$[^$]+\$/.test(text.data))
        found.push(text.data.trim().slice(0, 60));
    return found;
  });
  for (const text of left) offend(`Markdown is left in "${text}"`);
}

/// Each term of the score, and each thing that it is made of, has one colour in equations, code and switches. The
/// terms' colours differ, also for those who do not see red or green.
async function check_meanings(page, offend) {
  const { several, terms } = await page.evaluate(() => {
    const colors = new Map();
    const add = (name, color) => colors.set(name, (colors.get(name) ?? new Set()).add(color));
    const name_of = (one) => [...one.classList].find((name) => name.startsWith('means-'));
    for (const one of document.querySelectorAll(':is(.katex, pre) [class*=means-]')) add(name_of(one), getComputedStyle(one).color);
    for (const one of document.querySelectorAll('.term-name')) add(name_of(one), getComputedStyle(one, '::before').backgroundColor);
    const probe = document.body.appendChild(document.createElement('i'));
    const canvas = document.createElement('canvas').getContext('2d');
    const terms = ['content-content', 'content-position', 'content-bias', 'position-bias', 'position-scores'].map((name) => {
      probe.style.color = `var(--${name})`;
      canvas.fillStyle = getComputedStyle(probe).color;
      canvas.fillRect(0, 0, 1, 1);
      return { name, rgb: [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3) };
    });
    probe.remove();
    return { several: [...colors].filter(([, all]) => all.size > 1).map(([name]) => name), terms };
  });
  for (const name of several) offend(`${name} has several colours`);
  for (const pair of alike(terms)) offend(`the colours of ${pair}`);
}

/// Text stands out from what is behind it.
async function check_contrast(page, scheme, offend) {
  const faint = await page.evaluate(([least, least_edge]) => {
    const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
    const known = new Map();  // a page has few colours, and to read a pixel takes long
    const rgba = (color) => {
      if (known.has(color)) return known.get(color);
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = color;
      canvas.fillRect(0, 0, 1, 1);
      known.set(color, [...canvas.getImageData(0, 0, 1, 1).data]);
      return known.get(color);
    };
    const light = (color) => {
      const [r, g, b] = rgba(color).map((x) => x / 255).map((x) => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const behind = (one) => {
      for (; one; one = one.parentElement) {
        const color = getComputedStyle(one).backgroundColor;
        if (rgba(color)[3] === 255) return color;
      }
      return 'white';
    };
    const found = new Map();
    for (const one of document.querySelectorAll('body *')) {
      const text = [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
      if (!text || !one.checkVisibility() || one.closest(':disabled, svg')) continue;
      const [a, b] = [light(getComputedStyle(one).color), light(behind(one))];
      const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      if (contrast < least) found.set(`${one.localName}.${one.className}`, contrast.toFixed(1));
    }
    // The edge of what one presses stands out, or all of it does.
    const pressed = ':is(button, select, textarea, input:not([type=range], [type=checkbox], [type=radio])):enabled, .to-press .field-cell, .doors a';
    const framed = 'figure, fieldset, .facts > div';  // the edge of a figure, where it has one
    for (const one of document.querySelectorAll(`${pressed}, ${framed}`)) {
      const { borderTopColor, borderTopWidth, borderTopStyle, backgroundColor } = getComputedStyle(one);
      if (!one.checkVisibility() || borderTopStyle === 'none' || parseFloat(borderTopWidth) === 0) continue;
      if (one.matches(framed) && rgba(borderTopColor)[3] === 0) continue;
      const [a, b] = [light(rgba(borderTopColor)[3] ? borderTopColor : backgroundColor), light(behind(one.parentElement))];
      const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      if (contrast < least_edge) found.set(`the edge of ${one.localName} ${one.name ?? one.className}`, contrast.toFixed(1));
    }
    return [...found];
  }, [least_contrast, least_edge]);
  for (const [what, contrast] of faint) offend(`${scheme}: ${what} has a contrast of ${contrast}, expected ${what.startsWith('the edge') ? least_edge : least_contrast}`);
}

/// Controls and pictures have names, figures have captions, and there is one main heading.
async function check_names(page, offend) {
  const nameless = await page.evaluate(() => {
    const named = (one) => one.labels?.[0]?.textContent.trim() || one.textContent.trim() ||
      one.getAttribute('aria-label') || one.getAttribute('aria-labelledby') || one.title || one.alt;
    const list = [];
    const want = (condition, what) => { if (!condition) list.push(what); };
    for (const one of document.querySelectorAll('button, input, select, textarea, summary, a, [tabindex="0"]')) {
      if (!one.checkVisibility()) continue;
      const text = ['INPUT', 'SELECT', 'TEXTAREA'].includes(one.tagName)
        ? one.labels?.[0]?.textContent.trim() || one.getAttribute('aria-label') : named(one);
      want(text, `${one.outerHTML.slice(0, 80)} has no name`);
    }
    for (const one of document.querySelectorAll('main svg, main img'))
      want(one.closest('[aria-label], [aria-labelledby], [aria-hidden=true], figure:has(figcaption)'), `${one.outerHTML.slice(0, 80)} has no words`);
    for (const one of document.querySelectorAll('main figure')) {
      const name = one.ariaLabel ?? document.getElementById(one.getAttribute('aria-labelledby'))?.textContent;
      want(name?.trim(), `${one.outerHTML.slice(0, 80)} has no name`);
    }
    for (const one of document.querySelectorAll('main figure'))
      want(one.querySelector('figcaption')?.textContent.trim(), `${one.outerHTML.slice(0, 80)} has no caption`);
    want(document.querySelectorAll('h1').length === 1, 'not one h1');
    for (const landmark of ['header', 'main', 'footer', 'nav'])
      want(document.querySelector(landmark), `no ${landmark}`);
    const ids = [...document.querySelectorAll('[id]')].map(({ id }) => id);
    want(new Set(ids).size === ids.length, 'an id stands twice');
    return list;
  });
  nameless.forEach(offend);
}

/// Links within the book lead somewhere.
async function check_links(page, book, offend) {
  const links = await page.evaluate(() => [...document.querySelectorAll('a[href]')].map((one) => one.getAttribute('href')));
  for (const link of new Set(links)) {
    if (/^https?:/.test(link)) continue;
    const [file, id] = link.split('#');
    const there = file && fs.existsSync(path.join(book, file));
    if (file && !there) offend(`a link to ${link}, which is not there`);
    if (there && id && !fs.readFileSync(path.join(book, file), 'utf8').includes(` id="${id}"`)) offend(`no #${id} in ${file}`);
    if (!file && id && !(await page.evaluate((id) => document.getElementById(id) !== null, id))) offend(`no #${id}`);
  }
}

/// Each heading has a link to itself, and each number with a deviation says what it is.
async function check_sayings(page, offend) {
  const { unlinked, unsaid } = await page.evaluate(() => ({
    unlinked: [...document.querySelectorAll('main > :is(h2, h3)')].filter((one) => one.querySelector('a')?.hash !== `#${one.id}`)
      .map(({ textContent }) => textContent),
    unsaid: [...document.querySelectorAll('main > .wide td, details .wide td')]
      .filter((one) => one.textContent.includes(' ± ') && !/standard (deviation|error)/.test(one.title)).map(({ textContent }) => textContent),
  }));
  for (const heading of unlinked) offend(`no link to the heading ${heading}`);
  for (const cell of unsaid) offend(`nothing says what ${cell} is`);
  const { cells, notations } = await page.evaluate(() => ({
    cells: document.querySelectorAll('td[title*="standard deviation"]').length, notations: document.querySelectorAll('.notation').length,
  }));
  if (notations !== Math.min(cells, 1)) offend(`${notations} sentences say what ${cells} cells are`);
}

/// An equation that is copied comes out once, as it was written.
async function check_copies(page, offend) {
  const copied = await page.evaluate(() => {
    const equation = document.querySelector('main p .katex');
    if (!equation) return null;
    let text = '';
    document.addEventListener('copy', ({ clipboardData }) => { text = clipboardData.getData('text/plain'); }, { once: true });
    getSelection().selectAllChildren(equation);
    document.execCommand('copy');
    getSelection().removeAllRanges();
    const own = [...document.querySelectorAll('annotation')].find((one) => /\\(query|key|val|memory|distance|content|position)/.test(one.textContent));
    return { text, written: equation.querySelector('annotation').textContent, own: own?.textContent };
  });
  if (copied?.own) offend(`a copy of ${copied.own} has commands of this book`);
  if (copied && copied.text.trim() !== `$${copied.written}$`) offend(`an equation is copied as ${JSON.stringify(copied)}`);
}

/// Tab comes to everything that can be used, and one sees where it is.
async function check_tabs(page, offend) {
  const stops = await page.evaluate(() => {
    const all = [...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex="0"]')]
      .filter((one) => !one.disabled && one.checkVisibility({ visibilityProperty: true }));
    const radios = new Set();
    const kept = all.filter((one) => one.type !== 'radio' || !radios.has(one.name) && radios.add(one.name));
    kept.forEach((one, n) => one.dataset.stop = n);
    return kept.map((one) => one.type === 'radio' ? one.name : one.outerHTML.slice(0, 60));
  });
  // The page notes where the focus comes, so that no press waits for an answer.
  await page.evaluate(() => {
    document.activeElement.blur();
    window.scrollTo(0, 0);
    globalThis.focused = [];
    document.addEventListener('focusin', ({ target: one }) => {
      const { outlineStyle, outlineWidth } = getComputedStyle(one);
      const first = one.type === 'radio' ? document.querySelector(`input[name="${one.name}"][data-stop]`) : one;
      focused.push({ stop: first?.dataset?.stop, what: one.outerHTML.slice(0, 60),
                     shown: outlineStyle !== 'none' && parseFloat(outlineWidth) > 0 });
    });
  });
  for (let n = 0; n < stops.length + 5; ++n) await page.keyboard.press('Tab');
  const focused = await page.evaluate(() => {
    document.activeElement.blur();
    return focused;
  });
  for (const what of new Set(focused.filter(({ shown }) => !shown).map(({ what }) => what))) offend(`focus does not show on ${what}`);
  const seen = new Set(focused.map(({ stop }) => Number(stop)));
  stops.forEach((what, n) => { if (!seen.has(n)) offend(`Tab does not come to ${what}`); });
}

/// Sections fold, and their addresses open them.
async function check_folds(page, offend) {
  for (const fold of await page.locator('details.fold').all()) {
    const id = await fold.locator('> summary :is(h2, h3)').getAttribute('id');
    const is_open = () => fold.evaluate((one) => one.open);
    if (await is_open()) offend(`#${id} is open before anybody asks`);
    await page.evaluate((id) => { location.hash = id; }, id);
    await page.waitForFunction((id) => document.getElementById(id).closest('details').open, id)
      .catch(() => offend(`the address #${id} does not open its section`));
    await fold.locator('> summary').focus();
    await page.keyboard.press('Enter');
    if (await is_open()) offend(`Enter does not fold #${id}`);
  }
}

/// On paper there is the text from edge to edge, and nothing that one would press.
async function check_print(page, offend) {
  await page.emulateMedia({ media: 'print' });
  const { left, folded, buttons, indented } = await page.evaluate(() => ({
    folded: [...document.querySelectorAll('details.fold > *')].filter((one) => !one.checkVisibility()).length,
    left: document.querySelector('main').getBoundingClientRect().left,
    buttons: [...document.querySelectorAll('header, footer, button')].filter((one) => one.checkVisibility()).length,
    indented: [...document.querySelectorAll('main > p')]
      .filter((one) => one.getBoundingClientRect().left > 20).map(({ textContent }) => textContent.slice(0, 30)),
  }));
  if (left > 20 || buttons) offend(`printed, the text begins at ${left} and ${buttons} controls show`);
  if (folded) offend(`printed, ${folded} parts of folded sections are missing`);
  for (const text of indented) offend(`printed, "${text}" is indented`);
  await page.emulateMedia({ media: 'screen' });
}

/// A picture of a whole page, where the environment asks for it. Playwright's own is packed tighter, which takes longer.
async function take_picture(page, name, kind) {
  const folder = process.env.PICTURES;
  if (!folder) return;
  const { clientWidth: width, scrollHeight: height } = await page.evaluate(() => {
    const { clientWidth, scrollHeight } = document.documentElement;
    return { clientWidth, scrollHeight };
  });
  const session = await page.context().newCDPSession(page);
  const { data } = await session.send('Page.captureScreenshot', {
    format: 'png', optimizeForSpeed: true, captureBeyondViewport: true, clip: { x: 0, y: 0, width, height, scale: 1 },
  });
  await session.detach();
  fs.mkdirSync(folder, { recursive: true });
  fs.writeFileSync(path.join(folder, name.replace('.html', `-${kind}.png`)), data, 'base64');
}

/// In the page, before all else: adds up how far what has been shown moves.
function note_shifts() {
  globalThis.shifted = 0;
  new PerformanceObserver((list) => {
    for (const { value, hadRecentInput } of list.getEntries()) if (!hadRecentInput) globalThis.shifted += value;
  }).observe({ type: 'layout-shift', buffered: true });
}

/// What has been shown stays in its place while fonts and figures come, on a page that nobody has used yet and that began
/// with note_shifts. A report is not checked.
async function check_shift(page, offend) {
  if (!await page.locator('link[href="book.css"]').count()) return;
  const shifted = await page.evaluate(() => globalThis.shifted);
  if (shifted > most_shift)
    offend(`at ${page.viewportSize().width} its layout shifts by ${shifted.toFixed(2)}, expected ${most_shift}`);
}

/// A figure that has come fills the room that the making of the book measured for it, on a page that nobody has used yet.
async function check_rooms(page, offend) {
  await page.waitForFunction(() => !document.querySelector('main [aria-busy=true]'));
  const empty = await page.evaluate((most) => [...document.querySelectorAll('main figure[style]')].flatMap((figure) => {
    const made = figure.firstElementChild, room = made.offsetHeight;
    made.style.minHeight = '0';
    const left = room - made.offsetHeight;
    made.style.minHeight = '';
    return left > most ? [`${left} pixels stay empty in #${figure.id}`] : [];
  }), most_empty);
  for (const what of empty) offend(`at ${page.viewportSize().width} ${what}`);
}

/// Both on a phone; who opens the page has checked them on a desk.
async function check_coming_on_phone(page, offend) {
  const fresh = await page.context().browser().newPage({ viewport: narrow, reducedMotion: 'reduce' });
  await fresh.addInitScript(note_shifts);
  await fresh.goto(page.url().split('#')[0]);  // a section's address scrolls
  await settled(fresh);
  await check_shift(fresh, offend);
  await check_rooms(fresh, offend);
  await fresh.close();
}

/// Without JavaScript each figure shows how it begins, code is there in all languages, and the page says what is missing.
async function check_without_scripts(page, offend) {
  const context = await page.context().browser().newContext({ javaScriptEnabled: false, viewport: narrow });
  const still = await context.newPage();
  await still.goto(page.url());
  const { empty, figures, says, is_wide, languages } = await still.evaluate(() => {
    const figures = [...document.querySelectorAll('main figure[id]')];
    const shows = (one) => one.checkVisibility() &&
      (one.innerText?.trim() || one.matches('svg, img') || one.querySelector('svg, img, .field-cell'));
    return {
      figures: figures.length, says: document.querySelector('.without-scripts')?.checkVisibility() ?? false,
      empty: figures.filter((one) => ![...one.children].some((part) => part.localName !== 'figcaption' && shows(part)))
        .map(({ id }) => id),
      is_wide: document.documentElement.scrollWidth > document.documentElement.clientWidth,
      languages: [...document.querySelectorAll('code-tabs > figure')].filter((one) => {
        for (let fold = one; fold = fold.parentElement.closest('details');) fold.open = true;
        return !one.checkVisibility();
      }).map(({ dataset }) => dataset.language),
    };
  });
  if (languages.length) offend(`without JavaScript, code in ${languages} is missing`);
  if (empty.length) offend(`without JavaScript, the figures ${empty} are empty`);
  if (figures && !says) offend('nothing says what is missing without JavaScript');
  if (is_wide) offend('without JavaScript it is wider than a phone');
  await context.close();
}

async function check_page({ page, name, book, offend }) {
  const picture = (kind) => take_picture(page, name, kind);
  const is_of_book = await page.locator('link[href="book.css"]').count() > 0;  // else it is a report
  await check_names(page, offend);
  if (is_of_book) {
    await check_rooms(page, offend);
    await check_column(page, offend);
    await check_headings(page, offend);
    await check_opening(page, offend);
    await check_where(page, name, offend);
    await check_notes(page, offend);
    if (name !== 'index.html') await check_figures(page, offend);
    await check_sayings(page, offend);
    await check_copies(page, offend);
    await check_folds(page, offend);
    await check_without_scripts(page, offend);
    await check_coming_on_phone(page, offend);
  }
  await check_width(page, offend);
  await check_scroll_bars(page, offend);
  await check_marks(page, offend);
  await check_markdown(page, offend);
  await check_links(page, book, offend);
  await check_tabs(page, offend);
  for (const colorScheme of ['dark', 'light']) {
    await page.emulateMedia({ colorScheme });
    await settled(page);
    await check_contrast(page, colorScheme, offend);
    if (is_of_book) await check_meanings(page, offend);
    await picture(colorScheme);
  }
  await page.setViewportSize(narrow);
  await settled(page);
  await check_width(page, offend);
  await check_marks(page, offend);
  if (is_of_book) {
    await check_notes(page, offend);
    await check_tables(page, offend);
    await check_fingers(page, offend);
  }
  await picture('narrow');
  await page.setViewportSize(wide);
  if (is_of_book) await check_print(page, offend);
}

module.exports = { check_contrast, check_page, check_shift, check_width, narrow, note_shifts, take_picture, wide };
