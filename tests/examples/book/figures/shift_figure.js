// <shift-figure> ends where run_layer does, hatches what is wrapped, hides it by the mask, and says where each cell
// lies. In the chapter on the shift, all sizes, ways and buttons are tried.

const { Figure, assert, below, is_open, range } = require('../figure.js');
const { settled } = require('../waiting.js');

const an_hour = 3600000;
const pause_between_steps = 1400;  // milliseconds, as the figure has it

const ways = {
  rel_shift: { columns: (T, K) => K, delta: (c, T, K) => K - 1 - c, layer: 'rel_shift', wraps: true },
  shift_right: { columns: (T, K) => K + T, delta: (c, T, K) => K - c, layer: 'shift_right', kept_from: (T) => T },
  skewing: { columns: (T, K) => K, delta: (c, T, K) => K - 1 - c, layer: 'rel_shift', wraps: true },
  two_way: { columns: (T, K) => K + T - 1, delta: (c, T, K) => K - 1 - c, layer: 'rel_shift' },
};

/// Goes to the last step, and compares it with run_layer's output and with what the shift is for.
async function check_end(figure) {
  const [T, M] = [await figure.number('t'), await figure.number('m')], K = M + T;
  const name = await figure.input('way').inputValue(), way = ways[name], columns = way.columns(T, K);
  const x = { shape: [T, columns], values: range(T * columns).map((n) => n + 1) };
  const { tensors } = await figure.ask({
    do: 'run_layer', layer: way.layer, config: {}, tensors: { 'input.x': x, grad_output: x },
  });
  const label = (value) => value === 0 ? '0'
    : `q${below(Math.floor((value - 1) / columns))}r${below(way.delta((value - 1) % columns, T, K))}`;
  const at = (i, j) => label(tensors.output.values[i * columns + (way.kept_from?.(T) ?? 0) + j]);
  const table = (entry) => range(T).map((i) => range(K).map((j) => entry(i, j)));
  await figure.shows(table(at), async () => {
    await figure.slide('step', Number(await figure.input('step').getAttribute('max')));
    return figure.rows(({ text }) => text);
  });
  const wrapped = (i, j) => Boolean(way.wraps) && j > M + i;
  const own = (i, j) => `q${below(i)}r${below(M + i - j)}`;
  table((i, j) => wrapped(i, j) || assert.equal(at(i, j), own(i, j), `${name}, T ${T}, M ${M}`));
  assert.deepEqual(await figure.rows(({ kind }) => kind.includes('wrapped')), table(wrapped), `${name}: what is hatched`);
  await figure.input('mask').check();
  assert.deepEqual(await figure.rows(is_open), table((i, j) => j <= M + i), `${name}: what the mask leaves`);
  await figure.input('mask').uncheck();
}

async function check_buttons(figure) {
  const step = () => figure.number('step');
  await figure.slide('step', 0);
  for (const [name, expected] of [['next', 1], ['next', 2], ['back', 1], ['next', 2], ['next', 3], ['next', 4]]) {
    await figure.input(name).focus();
    await figure.page.keyboard.press('Enter');
    assert.equal(await step(), expected, name);
    await figure.look(`shift ${expected}`);
  }
  assert.ok(await figure.input('next').isDisabled());
  await check_playing(figure);
  await stop_clock(figure);
  await figure.input('motion').press('Enter');
  assert.equal(await step(), 1);
  await figure.page.clock.runFor(pause_between_steps / 2);
  assert.equal(await step(), 4);
  await figure.page.clock.resume();
}

/// From here on the page's time goes on only when a check lets it.
async function stop_clock({ page }) {
  await page.clock.install();
  // The page's clock goes on until this order has come there, which may take its time.
  await page.clock.pauseAt(await page.evaluate(() => Date.now()) + an_hour);
}

/// One step is shown after the other, and the last one stays.
async function check_playing(figure) {
  await stop_clock(figure);
  await figure.input('play').press('Enter');
  for (const expected of [0, 1, 2, 3, 4, 4]) {
    assert.equal(await figure.number('step'), expected);
    await figure.page.clock.runFor(pause_between_steps);
  }
  await figure.page.clock.resume();
}

async function check_keys(figure) {
  const sizes = async () => [await figure.number('t'), await figure.number('m')];
  for (const [K, expected] of [[9, [5, 4]], [1, [1, 0]], [4, [1, 3]]]) {
    await figure.slide('k', K);
    assert.deepEqual(await sizes(), expected, `K is ${K}`);
  }
}

/// Three queries behind two remembered tokens: entry (1, 2) of the view is at address 3 + 1·5 + 2·1.
async function check_places(figure) {
  const { page } = figure;
  await figure.slide('step', 4);
  await settled(page);
  await figure.root.locator('.field-cell[data-row="1"][data-column="2"]').hover();
  assert.equal(await figure.said(), 'q₁·r₁ is at 1, 2, which is address 3 + 1·5 + 2·1 = 10 of buffer B.');
  await figure.root.locator('.field-plane').focus();
  for (const key of ['ArrowUp', 'ArrowRight', 'ArrowRight']) await page.keyboard.press(key);
  assert.match(await figure.said(), /^q₁·r₄ is at 0, 4, .* = 7 of buffer B\. It is wrapped/);
  const tensor = { shape: [3, 5], values: range(15) };
  const { views } = await figure.ask({ do: 'views', tensor, steps: [['pad_left'], ['rel_shift_view']] });
  assert.deepEqual([views[2].positions[7], views[2].positions[4]], [10, 7]);
  const table = await figure.root.locator('tbody tr').evaluateAll((rows) =>
    rows.map(({ cells }) => [...cells].map(({ textContent }) => textContent)));
  assert.deepEqual(table.at(-1), ['at once: rel_shift_view', '[3, 5]', '[5, 1]', '3', 'B']);
  assert.deepEqual(table.at(-2).slice(1), table.at(-1).slice(1));
}

/// With numbers in place of letters, the figure shows what the library has moved.
async function check_numbers(figure) {
  await figure.input('way').selectOption('shift_right');
  await figure.slide('t', 3);
  await figure.slide('m', 0);
  await figure.input('numbers').check();
  const tensor = { shape: [3, 6], values: range(18).map((n) => n + 1) };
  const { views } = await figure.ask({ do: 'views', tensor, steps: [['pad_right'], ['shift_right_view'], ['slice', 1, 3, 6]] });
  const rows = range(3).map((i) => views.at(-1).values.slice(3 * i, 3 * i + 3).map(String));
  await figure.shows(rows, async () => {
    await figure.slide('step', Number(await figure.input('step').getAttribute('max')));
    return figure.rows(({ text }) => text);
  });
  await figure.input('numbers').uncheck();
}

async function check_motion(figure) {
  const moves = () => figure.root.locator('.field-cell').first().evaluate((cell) =>
    getComputedStyle(cell).transitionDuration !== '0s');
  assert.ok(!await moves(), 'cells move where motion is not wanted');
  await figure.page.emulateMedia({ reducedMotion: 'no-preference' });
  assert.ok(await moves(), 'cells do not move');
  await figure.page.emulateMedia({ reducedMotion: 'reduce' });
}

module.exports = async (page, root) => {
  const figure = new Figure(page, root);
  await check_end(figure);
  if (!figure.is_in('shift')) return;
  await check_buttons(figure);
  await check_places(figure);
  await check_motion(figure);
  await check_numbers(figure);
  for (const [T, M] of [[1, 0], [1, 3], [4, 0], [5, 4]]) {
    await figure.slide('t', T);
    await figure.slide('m', M);
    for (const name of Object.keys(ways)) {
      await figure.input('way').selectOption(name);
      await check_end(figure);
      if (T === 4) await figure.look(`shift ${name}`);
    }
  }
  await check_keys(figure);
};
