// <visibility-figure> shows what formulas say. In the chapter on attention all kinds are tried, in a figure that
// offers them all.

const { Figure, assert, below, is_open, range } = require('../figure.js');

const sliders = ['window', 'padding', 'max_distance', 'max_seq', 'band', 'taps', 'rnn_window'];
const tried = {
  causal: [{}], memory: [{}], two_way: [{}],
  window: [{ window: 1 }, { window: 3 }],
  padding: [{ padding: 0 }, { padding: 2 }],
  shaw: [{ max_distance: 0 }, { max_distance: 2 }, { max_distance: 4 }],
  music: [{ max_seq: 1 }, { max_seq: 4 }],
  aft_local: [{ band: 1 }, { band: 3 }],
  aft_conv: [{ taps: 1 }, { taps: 3 }],
  local_rnn: [{ rnn_window: 1 }, { rnn_window: 3 }],
};

/// Compares what is shown with the formula of the chosen kind at the chosen sizes.
async function check_cells(figure) {
  const { kind, t, m: memory, ...own } = await figure.values();
  const T = Number(t), M = Number(memory), K = M + T;
  const sizes = Object.fromEntries(sliders.filter((name) => name in own).map((name) => [name, Number(own[name])]));
  const both = kind === 'two_way' || kind === 'padding';
  const reach = sizes.window ?? sizes.max_seq ?? sizes.rnn_window ?? Infinity, m = sizes.max_distance;
  const sees = (delta, j) => (both || delta >= 0) && delta < reach && j < K - (sizes.padding ?? 0);
  const mark = (delta) => kind === 'shaw' ? String(Math.max(-delta, -m) + m)
    : kind === 'aft_local' && delta < sizes.band ? 'w'
    : kind === 'aft_conv' && delta < sizes.taps ? `w${below(delta)}` : '';
  const expected = range(T).map((i) => range(K).map((j) => {
    const delta = M + i - j;
    return sees(delta, j) ? `seen ${mark(delta)}` : 'hidden ';
  }));
  await figure.shows(expected, () => figure.rows((cell) => `${is_open(cell) ? 'seen' : 'hidden'} ${cell.text}`));
}

/// Hides the only two keys of query 1 by hand, the second by the keyboard, and shows one again.
async function check_mask(figure) {
  await figure.input('kind').selectOption('mask');
  await figure.slide('t', 4);
  await figure.slide('m', 0);
  const open_cells = (hidden) => range(4).map((i) => range(4).map((j) => j <= i && !hidden.includes(`${i} ${j}`)));
  const shows = (hidden) => figure.shows(open_cells(hidden), () => figure.rows(is_open));
  await shows([]);
  assert.equal(await figure.root.locator('.field-cell').first().evaluate((cell) => getComputedStyle(cell).cursor), 'pointer');
  await figure.root.locator('.field-cell[data-row="1"][data-column="0"]').click();
  await shows(['1 0']);
  await figure.root.locator('.field-plane').focus();
  await figure.page.mouse.move(0, 0);  // a cell that is drawn under the mouse would take the choice from the keyboard
  await figure.page.keyboard.press('ArrowRight');
  await figure.page.keyboard.press('Enter');
  await shows(['1 0', '1 1']);
  await figure.look('visibility mask');
  await figure.page.keyboard.press('Space');
  await shows(['1 0']);
}

/// With a window of 1 a query reads its own token alone, whatever the scores. So where 1 is added to all channels of
/// the token, the answer moves by W_output W_v (1, …, 1).
async function check_numbers(figure) {
  await figure.input('kind').selectOption('window');
  for (const [name, value] of [['t', 4], ['m', 1], ['window', 1]]) await figure.slide(name, value);
  const far = await figure.page.evaluate(async () => {
    const { random_numbers } = await import('book/numbers.js');
    const C = 4, random = random_numbers(1), qkv = random([3 * C, C]).values;
    random([3 * C]);  // the biases
    const output = random([C, C]).values, sum = (row) => row.reduce((a, b) => a + b);
    const row = (matrix, n) => matrix.slice(n * C, (n + 1) * C);
    const values = [0, 1, 2, 3].map((n) => sum(row(qkv, 2 * C + n)));
    return Math.max(...[0, 1, 2, 3].map((n) => Math.abs(sum(row(output, n).map((weight, c) => weight * values[c])))));
  });
  const text = far < 0.995 ? far.toFixed(2).slice(1) : far.toFixed(1);
  const texts = (own) => range(4).map((i) => range(5).map((j) => j === i + 1 ? own : ''));
  const shown = () => figure.rows((cell) => is_open(cell) ? cell.text : '');
  await figure.shows(texts(''), shown);
  await figure.input('numbers').press('Space');
  await figure.shows(texts(text), shown);
  await figure.root.locator('.field-cell[data-row="2"][data-column="3"]').hover();
  assert.equal(await figure.said(), `Token 3 sees token 3, at distance 0. Its answer moves by ${Number(far.toPrecision(3))}.`);
  await figure.look('visibility numbers');
  await figure.input('numbers').press('Space');
  await figure.shows(texts(''), shown);
}

module.exports = async (page, root) => {
  const figure = new Figure(page, root);
  await check_cells(figure);
  if (!figure.is_in('attention')) return;
  await root.evaluate((one) => one.replaceWith(document.createElement('visibility-figure')));
  for (const [T, M] of [[6, 0], [1, 0], [4, 3]])
    for (const [kind, all] of Object.entries(tried)) {
      await figure.input('kind').selectOption(kind);
      await figure.slide('t', T);
      await figure.slide('m', M);
      for (const sizes of all) {
        for (const [name, value] of Object.entries(sizes)) await figure.slide(name, value);
        await check_cells(figure);
        if (T === 4) await figure.look(`visibility ${kind} ${Object.values(sizes)}`);
      }
    }
  await check_numbers(figure);
  await check_mask(figure);
};
