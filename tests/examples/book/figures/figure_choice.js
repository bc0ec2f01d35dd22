// <figure-choice>, in the reports that char_lm and seq2seq write: its selects and small maps show other figures, its maps move
// together and mark the text, and the charts of a training stand on other axes, smooth, and in part, all of that by the
// keyboard. The figures themselves are checked by drawn_figure.js.

const fs = require('node:fs');
const { alike } = require('../eyes.js');
const { check_chart } = require('./drawn_figure.js');

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
  const buttons = section.locator('map-choice:visible').first().locator('button');
  if (!await buttons.count()) return;
  for (const at of [await buttons.count() - 1, 0]) {
    await buttons.nth(at).focus();
    await page.keyboard.press('Enter');
    const name = (await buttons.nth(at).getAttribute('aria-label')).replace('layer ', '');
    const title = await section.locator('drawn-figure:visible .title').first().textContent();
    if (!title.endsWith(name)) offend(`the small map ${name} shows "${title}"`);
    const pressed = await section.locator('map-choice:visible').first().locator('[aria-pressed=true]').count();
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

/// What a chart shows: the ends of its x axis, or their logarithms.
const part_of = (chart) => chart.locator('.chart').evaluate((one) => {
  const place = one.dataset.logarithmic === undefined ? Number : Math.log;
  const [low, high] = JSON.parse(one.querySelector('metadata').textContent).x.map(place);
  return { low, high };
});

const near = (a, b, range) => Math.abs(a - b) <= 0.01 * range;

/// Each choice of an axis by the keyboard draws another chart, with its points where its ticks have their values; and
/// the first choices draw the chart as it was.
async function check_axes(page, section, offend) {
  const charts = section.locator('drawn-figure'), first = charts.first().locator('.plane');
  const before = await first.innerHTML();
  const selects = section.locator('select'), count = await selects.count();
  const choose = async (n, key) => {
    await selects.nth(n).focus();
    await page.keyboard.press(key);
  };
  for (let n = 0; n < count; ++n) {
    await choose(n, 'ArrowDown');
    if (await first.innerHTML() === before) offend(`the choice ${n} draws the same chart`);
    for (let at = 0; at < await charts.count(); ++at) await check_chart(page, charts.nth(at), (what) => offend(`choice ${n}: ${what}`));
    await choose(n, 'Home');
  }
  for (let n = 0; n < count; ++n) await choose(n, 'ArrowDown');
  await check_chart(page, charts.first(), (what) => offend(`all choices: ${what}`));
  for (let n = 0; n < count; ++n) await choose(n, 'Home');
  await page.evaluate(() => document.activeElement.blur());
  if (await first.innerHTML() !== before) offend('the first choices do not draw the first chart');
}

/// Over 5 points, each value weighs 4/5 of the next, and a mean is over those that are there.
async function check_smoothing(page, section, offend) {
  await section.locator('select[name=smoothing]').focus();
  await page.keyboard.press('ArrowDown');
  const pairs = await section.locator('.behind').evaluateAll((all) => all.map((raw) => [raw, raw.nextElementSibling].map((path) =>
    path.getAttribute('d').match(/-?\d[-+.\de]*/g).map(Number).filter((_, n) => n % 2).map((y) => -y))));
  if (!pairs.length) offend('nothing is smooth');
  for (const [raw, smooth] of pairs)
    for (const [n, y] of smooth.entries()) {
      const weights = raw.slice(0, n + 1).map((_, k) => 0.8 ** (n - k)), sum = weights.reduce((all, weight) => all + weight);
      const expected = weights.reduce((all, weight, k) => all + weight * raw[k], 0) / sum;
      if (Math.abs(y - expected) > 1e-4 * Math.abs(expected)) return offend(`point ${n} is ${y}, expected ${expected}`);
    }
  await page.keyboard.press('Home');
}

/// A part that is dragged over shows alone, in all charts of the figure; keys choose a smaller and a larger one; a
/// button and a key show all of it.
async function check_zoom(page, section, offend) {
  const chart = section.locator('drawn-figure').first();
  // What is there at evaluations alone begins later.
  const parts = await Promise.all((await section.locator('drawn-figure').all()).map(part_of));
  const other = section.locator('drawn-figure').nth(parts.findLastIndex(({ low, high }) => low === parts[0].low && high === parts[0].high));
  await chart.scrollIntoViewIfNeeded();
  const plane = chart.locator('.plane'), before = await plane.innerHTML(), all = await part_of(chart), width = all.high - all.low;
  const expects = async (low, high, how) => {
    for (const [name, one] of [['the chart', chart], ['its neighbour', other]]) {
      const part = await part_of(one);
      if (!near(part.low, low, width) || !near(part.high, high, width))
        offend(`${how}: ${name} shows ${part.low} to ${part.high}, expected ${low} to ${high}`);
    }
  };
  const at = (share) => all.low + share * width;
  const drag = async (from, to) => {
    const box = await chart.locator('.frame').boundingBox();
    const place = (share) => [box.x + share * box.width, box.y + box.height / 2];
    await page.mouse.move(...place(from));
    await page.mouse.down();
    await page.mouse.move(...place(to), { steps: 4 });
    if (!await chart.locator('.chosen').count()) offend('a part that is dragged over is not marked');
    await page.mouse.up();
    await page.mouse.move(0, 0);
  };
  await drag(0.75, 0.25);
  await expects(at(0.25), at(0.75), 'a drag');
  await check_chart(page, chart, (what) => offend(`in part: ${what}`));
  const button = chart.locator('button');
  await button.focus();
  await page.keyboard.press('Enter');
  await expects(all.low, all.high, 'the button');
  await page.keyboard.press('End');
  await page.keyboard.press('+');
  await expects(at(0.5), at(1), 'a plus at the end');
  // The place that is read is in the middle, unless that is beyond an end.
  const first = await chart.locator('.chart').evaluate((one) => {
    const place = one.dataset.logarithmic === undefined ? Number : Math.log;
    const { curves } = JSON.parse(one.querySelector('metadata').textContent);
    return Math.min(...curves.filter(({ name }) => name !== undefined).map(({ xs }) => place(xs[0])));
  });
  const begin = Math.min(Math.max((first - all.low) / width - 0.25, 0), 0.5);
  await page.keyboard.press('Home');
  await expects(at(begin), at(begin + 0.5), 'Home after a plus');
  await page.keyboard.press('+');
  await page.keyboard.press('-');
  await expects(at(begin), at(begin + 0.5), 'a plus and a minus');
  await page.keyboard.press('0');
  await expects(all.low, all.high, '0');
  if (await button.isVisible()) offend('a button shows all of what shows already');
  await page.evaluate(() => document.activeElement.blur());
  if (await plane.innerHTML() !== before) offend('0 does not draw the first chart');
}

/// All charts are read at one step, and their numbers are saved: a line for each point of each curve.
async function check_numbers(page, section, offend) {
  const charts = section.locator('drawn-figure:visible');
  await charts.first().locator('[tabindex]').focus();
  await page.keyboard.press('Home');
  const said = await charts.locator('output').allTextContents(), steps = new Set(said.map((text) => text.split(':')[0]));
  if (steps.size > 1 && !said.some((text) => text.startsWith('step'))) offend(`charts are read at ${[...steps]}`);
  const silent = said.filter((text) => !text.includes(':')).length;
  if (silent) offend(`${silent} charts have no cursor`);
  const download = page.waitForEvent('download');
  await section.locator('[name=csv]').focus();
  await page.keyboard.press('Enter');
  const [head, ...lines] = fs.readFileSync(await (await download).path(), 'utf8').trim().split('\r\n');
  const points = await charts.evaluateAll((all) => all.reduce((sum, { numbers }) => sum + numbers.curves.reduce((n, { points }) => n + points.length, 0), 0));
  if (head !== 'chart,curve,axis,x,y,error' || lines.length !== points) offend(`${head} and ${lines.length} lines, expected ${points}`);
  if (lines.some((line) => line.split(',').length < 6 || !/,-?[\d.]+(e[+-]?\d+)?,-?[\d.]+(e[+-]?\d+)?,/.test(line))) offend(`a line of ${lines[0]}`);
}

/// Training and validation have colours that every eye tells apart. Of several runs, a colour is a run.
async function check_colors(section, offend) {
  const colors = await section.locator('drawn-figure').first().locator('.curve').evaluateAll((all) => {
    const names = new Map(all.map((path) => [getComputedStyle(path).stroke, path.dataset.name]));
    return [...names].map(([stroke, name]) => ({ name, rgb: stroke.match(/\d+/g).slice(0, 3).map(Number) }));
  });
  if (colors.length < 2) offend(`${colors.length} colours of losses`);
  if (!colors.some(({ name }) => name === 'validation')) return;
  for (const pair of alike(colors)) offend(`the colours of ${pair}`);
}

/// Each place of the slider, by the keyboard, shows what was observed last up to its step, of each run.
async function check_evaluations(page, offend) {
  const section = page.locator('section:has(#evaluations)'), slider = section.locator('input[type=range]');
  if (!await slider.count()) return;
  const runs = await section.locator('.beside > div').count(), steps = (await slider.getAttribute('data-options')).split('|');
  await slider.focus();
  for (const step of steps) {
    const said = await section.locator('.controls output').textContent(), parts = section.locator('div[data-at]:visible');
    if (said !== step || await parts.count() !== runs) offend(`the slider says ${said} and shows ${await parts.count()} parts, expected ${step} of ${runs} runs`);
    for (const title of await parts.locator('h3').allTextContents())
      if (Number(/step (\d+)$/.exec(title)?.[1] ?? 0) > Number(step)) offend(`at step ${step} stands "${title}"`);
    await page.keyboard.press('ArrowRight');
  }
  if (!(await section.locator('div[data-at]:visible h3').allTextContents()).some((title) => title.endsWith(`step ${steps.at(-1)}`))) offend('the last step does not show');
  const map = section.locator('drawn-figure:visible').first();
  if (!await map.count()) return;
  await map.locator('[tabindex]').focus();
  if (!/its row sums to/.test(await map.locator('output').textContent())) offend('a map of an evaluation says no weight');
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
  for (const name of ['Summary', 'Training', 'Attention', 'Flags', 'Parameters'])
    if (!sections.includes(name)) offend(`no section ${name} in ${sections}`);
  const training = page.locator('section:has(#training)');
  if (await training.locator('drawn-figure').count()) {
    await check_axes(page, training, offend);
    await check_smoothing(page, training, offend);
    await check_zoom(page, training, offend);
    await check_colors(training, offend);
    await check_numbers(page, training, offend);
  }
  await check_maps(page, page.locator('section:has(#attention)'), offend);
  await check_heads(page, page.locator('section:has(#attention)'), offend);
  await check_evaluations(page, offend);
  await check_room(page, offend);
  await check_flags(page, offend);
  const details = page.locator('section:has(#parameters) details').first();
  await details.evaluate((one) => { one.open = true; });
  const tensors = parseInt((await details.locator('summary').textContent()).match(/(\d+) tensors/)[1]);
  if (await details.locator('tr').count() !== tensors + 1) offend('not all parameters are listed');
};
