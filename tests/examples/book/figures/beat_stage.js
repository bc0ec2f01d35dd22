// <beat-stage> shows each picture by key, by scrolling and by address, on a desk and on a phone, in light and in dark,
// with motion and without, and all pictures where there is no JavaScript. The same number is the same in all of them.

const path = require('node:path');
const { assert, range } = require('../figure.js');
const { narrow, wide } = require('../page.js');
const { settled, until } = require('../waiting.js');

const beats = 11, least_contrast = 4.5;
const forward = ['ArrowDown', 'Space', 'ArrowRight'], back = ['ArrowUp', 'Shift+Space', 'ArrowLeft'];

/// The numbers of all pictures by name, each of which has one text.
async function numbers(page) {
  const found = new Map();
  for (const [name, text] of await page.locator('[data-number]').evaluateAll((all) => all.map((one) => [one.dataset.number, one.textContent]))) {
    assert.equal(found.get(name) ?? text, text, name);
    found.set(name, text);
  }
  return found;
}

/// Pictures agree with one another: vectors make products, products sum to terms, terms to scores, which softmax makes
/// weights of, and weights make a mean.
function check_numbers(shown) {
  const number = (name) => {
    assert.ok(shown.has(name), `no number ${name}`);
    return Number(shown.get(name).replace('−', '-'));
  };
  const last = 5, near = 4, sum = (values) => values.reduce((a, b) => a + b);
  const total = (j) => sum([...'abcd'].map((term) => number(`${term} ${last} ${j}`)));
  assert.equal(number(`a ${last} 0`), number(`a ${last} ${near}`), 'both words have one score by content');
  for (const j of range(last + 1)) {
    assert.equal(number(`delta ${last} ${j}`), last - j);
    assert.equal(number(`score ${last} ${j}`), total(j) / 2);
    assert.equal(number(`distance ${last} ${last - j}`), number(`b ${last} ${j}`) + number(`d ${last} ${j}`));
  }
  const product = (one, other) => sum(range(4).map((d) => number(`${one} ${d}`) * number(`${other} ${d}`)));
  for (const j of range(last + 1)) {
    assert.equal(number(`a ${last} ${j}`), product(`query ${last}`, `key ${j}`));
    assert.equal(number(`b ${last} ${j}`), product(`query ${last}`, `r ${last - j}`));
    assert.equal(number(`c ${last} ${j}`), product('u', `key ${j}`));
    assert.equal(number(`d ${last} ${j}`), product('v', `r ${last - j}`));
  }
  for (const term of 'abcd')
    assert.equal(sum(range(4).map((d) => number(`product ${term} ${d}`))), number(`${term} ${last} ${near}`), term);
  assert.equal(number(`total ${last} ${near}`), total(near));
  const powers = range(last + 1).map((j) => Math.exp(number(`score ${last} ${j}`)));
  const weights = range(last + 1).map((j) => number(`weight ${last} ${j}`));
  powers.forEach((power, j) => assert.equal(weights[j], Number((power / sum(powers)).toFixed(2)), `weight ${j}`));
  assert.equal(sum(weights).toFixed(2), '1.00');
  for (const d of range(2)) {
    const mean = sum(weights.map((weight, j) => weight * number(`value ${j} ${d}`)));
    assert.equal(number(`mean ${last} ${last + 1 + d}`), Number(mean.toFixed(2)), `mean ${d}`);
  }
  for (const i of range(last + 1)) for (const j of range(i + 1)) number(`score ${i} ${j}`);
}

/// All numbers stand in both matrices of the shift, but for the first five, which the second cut leaves out; and the rows
/// behind the memory are in two pictures.
async function check_places(page) {
  const names = await page.locator('[data-number]').evaluateAll((all) => all.map(({ dataset }) => dataset.number));
  const count = (name) => names.filter((one) => one === name).length;
  for (const i of range(6))
    for (const n of range(6)) {
      assert.equal(count(`distance ${i} ${n}`), i === 0 && n > 0 ? 1 : 2, `distance ${i} ${n}`);
      if (n <= i) assert.ok(count(`score ${i} ${n}`) >= (i < 3 ? 1 : 2), `score ${i} ${n}`);
    }
  for (const j of range(6)) assert.equal(count(`weight 5 ${j}`), 3);
}

/// What one sees at a beat: {current, address, focused, seen, wide}.
const view = (page) => page.evaluate(() => {
  const stage = document.querySelector('beat-stage'), [figures, texts] = ['figure', 'section'].map((name) => [...stage.querySelectorAll(`:scope > ${name}`)]);
  const current = figures.findIndex((one) => one.classList.contains('current'));
  const is_inside = (one) => {
    const { top, bottom, left, right, width, height } = one.getBoundingClientRect();
    return width > 0 && height > 0 && top >= 0 && left >= 0 && bottom <= innerHeight && right <= innerWidth;
  };
  const is_on_top = (one) => {
    const { left, top } = one.getBoundingClientRect();
    return one.contains(document.elementFromPoint(left + 4, top + 8));
  };
  const heading = texts[current]?.querySelector('h2'), still = figures[current]?.querySelector('svg');
  return {
    current, address: location.hash, heading: `#${heading?.id}`, focused: texts.indexOf(document.activeElement),
    seen: [...figures.entries()].filter(([, one]) => getComputedStyle(one).opacity === '1').map(([n]) => n).join(),
    is_whole: is_inside(still) && is_inside(heading) && is_on_top(heading) && is_on_top(figures[current]) &&
      is_inside(texts[current].lastElementChild),
    wide: document.documentElement.scrollWidth > document.documentElement.clientWidth,
  };
});

/// Waits until the page has scrolled further down. A scroll that goes on would move the next text out of its place.
const scrolls_on = (page) => page.evaluate(() => new Promise((resolve) => {
  const before = scrollY;
  addEventListener('scrollend', () => { if (scrollY > before) resolve(); });
}));

function expect_beat(n, found, how) {
  const { current, address, heading, seen, is_whole, wide } = found, what = `beat ${n} ${how}: ${JSON.stringify(found)}`;
  assert.ok(current === n && address === heading && seen === String(n) && is_whole && !wide, what);
}

/// Words in cells are within them, all is within the picture, and stands out from what is behind it.
async function check_drawing(page, how) {
  const wrong = await page.evaluate((least) => {
    const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
    const light = (color) => {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = color;
      canvas.fillRect(0, 0, 1, 1);
      const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map((x) => x / 255).map((x) => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const fill = (one) => getComputedStyle(one).fill;
    const contains = (a, b) => b.left >= a.left - 0.5 && b.right <= a.right + 0.5 && b.top >= a.top - 0.5 && b.bottom <= a.bottom + 0.5;
    return [...document.querySelectorAll('.still text')].flatMap((text) => {
      const box = text.getBoundingClientRect(), still = text.closest('.still'), rect = text.parentElement.querySelector(':scope > rect');
      const is_of_cell = text.parentElement.classList.contains('cell') && fill(rect) !== 'none';
      const behind = is_of_cell ? fill(rect) : getComputedStyle(text.closest('figure')).backgroundColor;
      if (is_of_cell && !text.textContent) return [];
      const [a, b] = [light(fill(text)), light(behind)], contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      const is_cut_off = text.closest('svg') !== still;  // by the ruler's end
      const fits = contains(still.getBoundingClientRect(), box) && (!is_of_cell || contains(rect.getBoundingClientRect(), box));
      return [...contrast < least ? [`${text.textContent} has a contrast of ${contrast.toFixed(1)}`] : [],
              ...fits || is_cut_off ? [] : [`${text.textContent} is too large`]];
    });
  }, least_contrast);
  assert.deepEqual(wrong, [], how);
}

async function take_pictures(reader, title) {
  if (!process.env.STATES) return;
  for (const colorScheme of ['dark', 'light']) {
    await reader.emulateMedia({ colorScheme });
    await reader.screenshot({ path: path.join(process.env.STATES, `${title} ${colorScheme}.png`) });
  }
}

module.exports = async (page) => {
  const browser = page.context().browser(), address = page.url().split('#')[0];
  const ids = await page.locator('beat-stage h2').evaluateAll((all) => all.map(({ id }) => id));
  assert.equal(ids.length, beats);
  const shown = await numbers(page);
  check_numbers(shown);
  await check_places(page);

  const errors = [];
  const visit = async (context, hash) => {
    const fresh = await context.newPage();
    fresh.on('pageerror', (error) => errors.push(error.message));
    await fresh.goto(address + hash);
    return fresh;
  };
  const open = async (options, hash = '') => visit(await browser.newContext(options), hash);
  const close = (fresh) => fresh.context().close();

  // Colours move nothing: in both schemes all is drawn, and one of them is read through.
  const draw = async (reader, how) => {
    for (const colorScheme of ['dark', 'light']) {
      await reader.emulateMedia({ colorScheme });
      await check_drawing(reader, `${how} ${colorScheme}`);
    }
  };
  for (const viewport of [wide, narrow]) {
    const how = String(viewport.width), reader = await open({ viewport, reducedMotion: 'reduce' });
    await settled(reader);
    await draw(reader, how);
    assert.deepEqual(await numbers(reader), shown);
    const go = async (key, n) => {
      await reader.keyboard.press(key);
      const found = await until(reader, () => view(reader), ({ current, address, is_whole }) =>
        current === n && address === `#${ids[n]}` && is_whole);
      expect_beat(n, found, `${how} by ${key}`);
      assert.equal(found.focused, n, key);
    };
    let at = await reader.evaluate(() => {  // a desk shows the first text below the title, a phone does not
      const { top } = document.querySelector('beat-stage > section').getBoundingClientRect();
      return top < 0.7 * innerHeight ? 0 : -1;
    });
    while (at < beats - 1) await go(forward[(at + 3) % 3], ++at);
    const scrolled = scrolls_on(reader);
    await reader.keyboard.press('ArrowDown');
    await scrolled;
    assert.equal((await view(reader)).current, beats - 1);
    while (at > 0) await go(back[at % 3], --at);
    for (const n of range(beats)) {
      await reader.evaluate((id) => document.getElementById(id).scrollIntoView(), ids[n]);
      expect_beat(n, await until(reader, () => view(reader), ({ address, is_whole }) => address === `#${ids[n]}` && is_whole), `${how} by scrolling`);
      await take_pictures(reader, `beat ${n} ${how}`);
      const there = await visit(reader.context(), `#${ids[n]}`);
      expect_beat(n, await until(there, () => view(there), ({ current, is_whole }) => current === n && is_whole), `${how} by address`);
      await there.close();
    }
    await close(reader);

    const still = await open({ viewport, javaScriptEnabled: false }, `#${ids[3]}`);
    assert.deepEqual(await numbers(still), shown, `${how} without JavaScript`);
    const { opacities, moves, top, wide: is_wide } = await still.evaluate(() => ({
      opacities: [...document.querySelectorAll('beat-stage > figure, .still g')].map((one) => getComputedStyle(one).opacity).filter((value) => value !== '1'),
      moves: document.getAnimations().length, top: document.querySelector('h2:target').getBoundingClientRect().top / innerHeight,
      wide: document.documentElement.scrollWidth > document.documentElement.clientWidth,
    }));
    assert.ok(!opacities.length && !moves && top >= 0 && top < 0.7 && !is_wide, `${how} without JavaScript: ${[opacities, moves, top, is_wide]}`);
    await draw(still, `${how} without JavaScript`);
    await close(still);
  }

  // All that moves comes to rest where it is drawn; a reader who wants no motion sees none.
  for (const [reducedMotion, moves] of [['reduce', false], ['no-preference', true]]) {
    const reader = await open({ viewport: wide, reducedMotion });
    await settled(reader);
    for (const id of [...ids.slice(1), ids[0]]) {  // the first has been played
      const { count, restless } = await reader.evaluate(async (id) => {
        document.getElementById(id).scrollIntoView();
        for (let frame = 0; frame < 3; ++frame) await new Promise(requestAnimationFrame);
        const all = document.getAnimations();
        for (const one of all) one.finish();
        const parts = [...document.querySelectorAll('.current .still *')].map((one) => getComputedStyle(one));
        return { count: all.length, restless: parts.filter(({ translate, scale, opacity }) => translate !== 'none' || scale !== 'none' || opacity === '0').length };
      }, id);
      assert.ok(count > 0 === moves && restless === 0, `${id}, ${reducedMotion}: ${count} move, ${restless} do not rest`);
    }
    await close(reader);
  }
  assert.deepEqual(errors, []);
};
