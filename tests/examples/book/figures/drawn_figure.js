// <drawn-figure>: what is drawn is what it says. A curve's points lie where the axes' ticks have their values, and a
// map's cells have the colours of their values; the arrow keys and the cursor read those values.

const numbers = (text) => (text.match(/-?\d+(\.\d+)?(e[-+]?\d+)?/g) ?? []).map(Number);

/// Of each curve, its last value, and the value that the axes have at the place on the screen.
const curves_of = (figure) => figure.evaluate((one) => {
  const middle = (box) => [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
  const ticks = (which, axis) => [...one.querySelectorAll('.ticks text')].filter(which)
    .map((text) => [Number(text.textContent), middle(text.getBoundingClientRect())[axis]]).filter(([value]) => !Number.isNaN(value));
  const place_of = (name) => one.querySelector('.chart').dataset[name] === undefined ? Number : Math.log;
  const place_x = place_of('logarithmic'), place_y = place_of('logarithmicY');
  const scale = (ends, transform) => {
    const [[a, from], [b, to]] = [ends[0], ends.at(-1)].map(([value, place]) => [transform(value), place]);
    return (place) => a + (place - from) / (to - from) * (b - a);
  };
  const xs = ticks((text) => text.getAttribute('y') === '100%' && text.getAttribute('dy') === '18', 0);
  const ys = ticks((text) => text.getAttribute('x') === '-7', 1);
  const paths = [...one.querySelectorAll('[data-name]:not([d=""])')];
  const numbers = paths.length ? JSON.parse(one.querySelector('metadata').textContent) : { curves: [] };
  const range = ([low, high], transform) => transform(high) - transform(low);
  const named = numbers.curves.filter(({ name, xs }) => name !== undefined && xs.length);
  return paths.map((path, n) => {
    const [x, y] = path.getAttribute('d').match(/(-?[-+.\de]+) (-?[-+.\de]+)$/).slice(1).map(Number);
    const at = new DOMPoint(x, y).matrixTransform(path.getScreenCTM());
    const { name, xs: all_x, ys: all_y } = named[n];
    const value = all_y.at(-1), said_x = place_x(all_x.at(-1)), said_y = place_y(value);
    return {
      name: name === path.dataset.name ? name : `${name} instead of ${path.dataset.name}`, x: said_x, y: said_y, value,
      seen_x: xs.length > 1 ? scale(xs.sort((a, b) => a[0] - b[0]), place_x)(at.x) : said_x,
      seen_y: ys.length > 1 ? scale(ys.sort((a, b) => a[0] - b[0]), place_y)(at.y) : said_y,
      range_x: range(numbers.x, place_x), range_y: range(numbers.y, place_y),
      stroke: getComputedStyle(path).stroke,
    };
  });
});

async function check_chart(page, figure, offend) {
  const curves = await curves_of(figure);
  if (!curves.length) return;
  for (const { name, x, y, seen_x, seen_y, range_x, range_y } of curves) {
    if (!(Math.abs(seen_x - x) < 0.02 * range_x)) offend(`${name} ends at ${x}, but is drawn at ${seen_x}`);
    if (!(Math.abs(seen_y - y) < 0.02 * range_y)) offend(`${name} ends with ${y}, but is drawn at ${seen_y}`);
  }
  if (new Set(curves.map(({ stroke }) => stroke)).size !== Math.min(curves.length, 8)) offend('curves of one colour');
  await figure.locator('[tabindex]').focus();
  await page.keyboard.press('End');
  const said = await figure.locator('output span').allTextContents();
  for (const { name, value } of curves)
    if (!said.some((text) => text.startsWith(name) && Math.abs(numbers(text.slice(name.length))[0] - value) <= 1e-3 * Math.abs(value)))
      offend(`the chart says ${said}, expected ${name} ${value}`);
  const end = await figure.locator('output').textContent();
  await page.keyboard.press('Home');
  if (curves.some(({ range_x }) => range_x > 1) && await figure.locator('output').textContent() === end) offend(`Home reads ${end}`);
}

/// The values of a map, and what is drawn for each: the share of the scale's end, or that it is hidden.
const cells_of = (figure) => figure.evaluate((one) => {
  const { values, columns } = JSON.parse(one.querySelector('metadata').textContent);
  const drawn = values.map(() => ({}));
  for (const path of one.querySelectorAll('.cells path:not(.hidden-stroke)'))
    for (const [, column, row, length] of path.getAttribute('d').matchAll(/M(\d+) (\d+)h(\d+)/g))
      drawn.fill({ share: path.dataset.share && Number(path.dataset.share), color: getComputedStyle(path).stroke },
        row * columns + Number(column), row * columns + Number(column) + Number(length));
  return { columns, cells: values.map((value, n) => ({ value, ...drawn[n] })) };
});

/// A finger scrolls the page over a map, and a tap reads a cell, which stays read.
async function check_touch(figure, offend) {
  const { action, said } = await figure.evaluate((one) => {
    const drawing = one.children[1], box = one.querySelector('.frame').getBoundingClientRect();
    const at = { pointerType: 'touch', bubbles: true, clientX: box.left + 1, clientY: box.top + 1 };
    document.activeElement.blur();
    for (const type of ['pointerdown', 'pointerup', 'pointerleave']) drawing.dispatchEvent(new PointerEvent(type, at));
    const said = one.querySelector('output').textContent;
    drawing.dispatchEvent(new PointerEvent('pointerleave', { pointerType: 'mouse' }));
    return { action: getComputedStyle(drawing).touchAction, said };
  });
  if (action !== 'pan-y') offend(`a finger on the map may ${action}, expected pan-y`);
  if (!said) offend('a tap reads no cell');
}

async function check_map(page, figure, offend) {
  const { columns, cells } = await cells_of(figure);
  const hidden = cells.find(({ value }) => value === null)?.color;
  for (const [n, { value, share, color }] of cells.entries()) {
    const expected = value === null ? undefined : Math.sign(value) * Math.sqrt(Math.min(Math.abs(value) / 1000, 1));
    if (color === undefined || (value === null) !== (color === hidden) || Math.abs((share ?? 0) - (expected ?? 0)) > 0.04)
      return offend(`cell ${n} of ${value} thousandths is drawn ${share} ${color}`);
  }
  if (!await figure.locator('.bar').count()) offend('no bar says what the colours mean');
  // The last row's first cell, then the one above its neighbour, by keys; then the first cell by the cursor.
  const rows = cells.length / columns;
  const says = async (row, column, how) => {
    const text = await figure.locator('output').textContent(), { value } = cells[row * columns + column];
    const limit = await figure.evaluate((one) => JSON.parse(one.querySelector('metadata').textContent).limit);
    const [read, sum] = text.split('; its row sums to ');
    const visible = cells.slice(row * columns, (row + 1) * columns).reduce((all, cell) => all + cell.value, 0);
    if (sum && Math.abs(sum - visible * limit / 1000) > 1e-3 * limit * columns) offend(`a row of ${visible} thousandths sums to ${sum}`);
    const right = value === null ? read.endsWith('hidden')
      : Math.abs(numbers(read).at(-1) - value * limit / 1000) <= 6e-4 * limit;
    if (!right) offend(`${how} reads "${text}" at ${row}, ${column}, expected ${value} thousandths of ${limit}`);
  };
  await page.evaluate(() => document.activeElement.blur());
  const plane = figure.locator('[tabindex]');
  await plane.focus();
  for (let n = 0; n < rows; ++n) await page.keyboard.press('ArrowDown');
  for (let n = 0; n < columns; ++n) await page.keyboard.press('ArrowLeft');
  await says(rows - 1, 0, 'a key');
  if (rows > 1 && columns > 1) {
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('ArrowRight');
    await says(rows - 2, 1, 'a key');
  }
  const frame = await figure.locator('.frame').boundingBox();
  await page.mouse.move(frame.x + frame.width / columns / 2, frame.y + frame.height / rows / 2);
  await says(0, 0, 'the cursor');
  await page.mouse.move(0, 0);
  await check_touch(figure, offend);
}

module.exports = async (page, first, offend) => {
  const figures = page.locator('main drawn-figure:visible');
  for (let n = 0; n < await figures.count(); ++n) {
    const figure = figures.nth(n);
    if (!await figure.locator('svg').count()) continue;
    await figure.scrollIntoViewIfNeeded();
    if (await figure.locator('svg.map').count()) await check_map(page, figure, offend);
    else await check_chart(page, figure, offend);
  }
};
module.exports.check_chart = check_chart;
