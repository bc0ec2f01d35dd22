// Drives the figures of the chapters on attention, positions, the shift, memory and storage in a browser,
// and compares what they show with the library's own answers and with formulas.
//
//     node tests/examples/book/figures.js BOOK    # the folder of the pages, with study.js
//
// Pictures of all states go into the folder that SCREENSHOTS names.

const assert = require('node:assert/strict');
const path = require('node:path');
const { chromium } = require('playwright-core');

const [book] = process.argv.slice(2);
const most_wait = 10000, moving_time = 1000;  // milliseconds

/// The library in this process, from the script that the pages load.
async function native_library() {
  require(path.resolve(book, 'study.js'));
  const own = { exports: {} };
  new Function('module', 'exports', 'require', '__filename', '__dirname', globalThis.shiftgrad_source)(
    own, own.exports, require, path.resolve(book, 'study.js'), path.resolve(book));
  const library = await own.exports();
  return (request) => JSON.parse(library.ccall('answer', 'string', ['string'], [JSON.stringify(request)]));
}

const range = (count) => Array.from({ length: count }, (_, n) => n);
const below = (n) => String(n).replace('-', '₋').replace(/\d/g, (digit) => '₀₁₂₃₄₅₆₇₈₉'[digit]);

/// A figure in a page, by its tag.
class Figure {
  constructor(page, tag) { this.page = page; this.root = page.locator(tag).first(); this.tag = tag; }

  input(name) { return this.root.locator(`[name="${name}"]:not(output)`); }
  /// Moves a slider as the arrow keys do.
  async slide(name, value) {
    const input = this.input(name);
    await input.focus();
    for (let now = Number(await input.inputValue()); now !== value; now = Number(await input.inputValue())) {
      await input.press(now < value ? 'ArrowRight' : 'ArrowLeft');
      const moved = Number(await input.inputValue());
      assert.notEqual(moved, now, `${this.tag}: ${name} stays at ${now}, wanted ${value}`);
    }
  }
  /// The cells of a field: {row, column, text, kind}.
  cells(field = 'cell-field') {
    return this.root.locator(`${field} .field-cell`).evaluateAll((elements) => elements.map((element) => ({
      row: Number(element.dataset.row), column: Number(element.dataset.column), text: element.textContent,
      kind: element.className,
    })));
  }
  /// The cells as rows of what `read` makes of them.
  async rows(read, field) {
    const rows = [];
    for (const cell of await this.cells(field)) (rows[cell.row] ??= [])[cell.column] = read(cell);
    return rows;
  }
  /// Waits until the figure shows what is expected. Figures compute in a worker.
  async shows(expected, read) {
    const begin = Date.now();
    for (;;) {
      const shown = await read();
      try { return assert.deepEqual(shown, expected); }
      catch (error) { if (Date.now() - begin > most_wait) throw error; }
      await this.page.waitForTimeout(20);
    }
  }
}

const alone = ({ kind }) => !kind.split(' ').includes('covered');

const cases = {
  async 'shift-figure ends where run_layer does'({ open, ask }) {
    const figure = new Figure(await open('shift'), 'shift-figure');
    for (const [T, M] of [[3, 2], [1, 0], [1, 3], [4, 0], [5, 4]]) {
      const K = M + T;
      await figure.slide('t', T);
      await figure.slide('m', M);
      for (const [way, columns, delta, layer] of [
        ['rel_shift', K, (c) => K - 1 - c, 'rel_shift'],
        ['shift_right', K + T, (c) => K - c, 'shift_right'],
        ['skewing', K, (c) => K - 1 - c, 'rel_shift'],
        ['two_way', K + T - 1, (c) => K - 1 - c, 'rel_shift'],
      ]) {
        await figure.input('way').selectOption(way);
        await figure.page.waitForFunction(([cells, n]) =>
          document.querySelectorAll(`${cells} .field-cell`).length >= n, ['shift-figure', T * K]);
        const x = { shape: [T, columns], values: range(T * columns).map((n) => n + 1) };
        const { tensors } = ask({ do: 'run_layer', layer, config: {}, tensors: { 'input.x': x, grad_output: x } });
        const skip = way === 'shift_right' ? T : 0;
        const label = (value) => value === 0 ? '0'
          : `q${below(Math.floor((value - 1) / columns))}r${below(delta((value - 1) % columns))}`;
        const expected = range(T).map((i) => range(K).map((j) => label(tensors.output.values[i * columns + skip + j])));
        await figure.shows(expected, async () => {
          await figure.slide('step', Number(await figure.input('step').getAttribute('max')));
          return figure.rows(({ text }) => text);
        });
        // Where no mask hides the future, a score is that of its own query and distance, and nothing is wrapped.
        const seen = (i, j) => way === 'rel_shift' || way === 'skewing' ? j <= M + i : true;
        range(T).forEach((i) => range(K).forEach((j) => {
          if (seen(i, j)) assert.equal(expected[i][j], `q${below(i)}r${below(M + i - j)}`, `${way} ${T} ${M}`);
        }));
        const wrapped = await figure.rows(({ kind }) => kind.includes('wrapped'));
        assert.deepEqual(wrapped, range(T).map((i) => range(K).map((j) => !seen(i, j))), `${way}: hatched`);
      }
    }
  },

  async 'shift-figure: the mask hides what is wrapped, and the buttons step'({ open, look }) {
    const page = await open('shift'), figure = new Figure(page, 'shift-figure');
    const step = async () => Number(await figure.input('step').inputValue());
    await figure.shows(15, async () => (await figure.cells()).length);
    await look(page, 'shift 0', 'shift-figure');
    for (const [name, wanted] of [['next', 1], ['next', 2], ['back', 1], ['next', 2], ['next', 3], ['next', 4]]) {
      await figure.input(name).click();
      assert.equal(await step(), wanted, name);
      await look(page, `shift ${wanted}`, 'shift-figure');
    }
    assert.ok(await figure.input('next').isDisabled());
    await figure.input('mask').check();
    await look(page, 'shift masked', 'shift-figure');
    assert.deepEqual(await figure.rows(alone),
      range(3).map((i) => range(5).map((j) => j <= 2 + i)));
    const table = await figure.root.locator('tbody tr').evaluateAll((rows) =>
      rows.map((row) => [...row.cells].map((cell) => cell.textContent)));
    assert.deepEqual(table.at(-1), ['at once: rel_shift_view', '[3, 5]', '[5, 1]', '3', 'buffer B']);
    assert.deepEqual(table.at(-2).slice(1), table.at(-1).slice(1));
    await figure.input('play').click();
    assert.equal(await step(), 0);
    await figure.shows(4, step);
    await figure.input('motion').click();
    assert.equal(await step(), 1);
    await figure.shows(4, step);
    await figure.slide('k', 9);
    assert.equal(await figure.input('t').inputValue(), '5');
    assert.equal(await figure.input('m').inputValue(), '4');
    await figure.slide('k', 1);
    assert.deepEqual([await figure.input('t').inputValue(), await figure.input('m').inputValue()], ['1', '0']);
  },

  async 'shift-figure says where a cell lies, to the cursor and to the keyboard'({ open, ask }) {
    const page = await open('shift'), figure = new Figure(page, 'shift-figure');
    await figure.shows(15, async () => (await figure.cells()).length);
    await figure.slide('step', 4);
    const said = () => figure.root.locator('.field-value').textContent();
    await page.waitForTimeout(moving_time);
    await figure.root.locator('.field-cell[data-row="1"][data-column="2"]').hover();
    assert.match(await said(), /^q₁·r₁ is at 1, 2, which is place 3 \+ 1·5 \+ 2·1 = 10 of buffer B\.$/);
    await figure.root.locator('.field-plane').focus();
    for (const key of ['ArrowUp', 'ArrowRight', 'ArrowRight']) await page.keyboard.press(key);
    assert.match(await said(), /^q₁·r₄ is at 0, 4, .* = 7 of buffer B\. It is wrapped/);
    const { views } = ask({ do: 'views', tensor: { shape: [3, 5], values: range(15) }, steps: [['pad_left'], ['rel_shift_view']] });
    assert.deepEqual([views[2].positions[7], views[2].positions[4]], [10, 7]);
  },

  async 'visibility-figure shows what formulas say'({ open, look }) {
    const page = await open('attention');
    // All kinds, wherever they stand in the book.
    await page.evaluate(() => {
      document.querySelector('visibility-figure').remove();
      document.querySelector('main, body').prepend(document.createElement('visibility-figure'));
    });
    const figure = new Figure(page, 'visibility-figure');
    const clip = (n, m) => Math.min(Math.max(n, -m), m);
    const kinds = {
      causal: [{}], memory: [{}], two_way: [{}],
      window: [{ window: 1 }, { window: 3 }],
      padding: [{ padding: 0 }, { padding: 2 }],
      shaw: [{ max_distance: 0 }, { max_distance: 2 }, { max_distance: 4 }],
      music: [{ max_seq: 1 }, { max_seq: 4 }],
      aft_local: [{ band: 1 }, { band: 3 }],
      local_rnn: [{ rnn_window: 1 }, { rnn_window: 3 }],
    };
    for (const [kind, all] of Object.entries(kinds))
      for (const [T, M] of [[6, 0], [1, 0], [4, 3]])
        for (const sizes of all) {
          await figure.input('kind').selectOption(kind);
          await figure.slide('t', T);
          await figure.slide('m', M);
          for (const [name, value] of Object.entries(sizes)) await figure.slide(name, value);
          const K = M + T;
          const sees = (delta, j) => {
            const both = kind === 'two_way' || kind === 'padding';
            const reach = sizes.window ?? sizes.max_seq ?? sizes.rnn_window ?? Infinity;
            return (both || delta >= 0) && delta < reach && j < K - (sizes.padding ?? 0);
          };
          const text = (delta) => kind === 'shaw' ? String(clip(-delta, sizes.max_distance) + sizes.max_distance)
            : kind === 'aft_local' && delta < sizes.band ? 'w' : '';
          const expected = range(T).map((i) => range(K).map((j) => {
            const delta = M + i - j;
            return sees(delta, j) ? `seen ${text(delta)}` : 'hidden ';
          }));
          await figure.shows(expected, () => figure.rows((cell) => `${alone(cell) ? 'seen' : 'hidden'} ${cell.text}`));
          if (T === 4) await look(page, `visibility ${kind} ${Object.values(sizes)}`, 'visibility-figure');
        }
  },

  async 'reach-figure: a memory more for each layer'({ open, look }) {
    const page = await open('memory'), figure = new Figure(page, 'reach-figure');
    const segments = 6;
    for (const [layers, T, M] of [[3, 4, 4], [1, 4, 4], [4, 2, 2], [2, 4, 0], [2, 3, 6], [1, 1, 0]]) {
      await figure.slide('layers', layers);
      await figure.slide('t', T);
      await figure.slide('m', M);
      const tokens = segments * T;
      for (const token of new Set([0, 2 * T, tokens - 1])) {
        await figure.shows((layers + 1) * tokens, async () => (await figure.cells()).length);
        await figure.slide('token', token);
        // M is whole segments here, so the oldest that a memory holds is the first token of its segment.
        const first = (layer) => Math.max(0, layer === 0 ? token : token - token % T - layer * M);
        const expected = range(layers + 1).map((row) =>
          range(tokens).map((column) => first(layers - row) <= column && column <= token));
        await figure.shows(expected, () => figure.rows(alone));
      }
      await look(page, `reach ${layers} ${T} ${M}`, 'reach-figure');
    }
    assert.match(await figure.root.locator('.key').textContent(), /^After 1 layer, token 5 sees 0 tokens back\.$/);
  },

  async 'terms-figure: memory changes no number, and each term does its part'({ open, look }) {
    const page = await open('positions'), figure = new Figure(page, 'terms-figure');
    const map = () => page.evaluate(() => {
      const element = document.querySelector('terms-figure heat-map');
      const { width, height } = element.querySelector('canvas');
      const rows = [];
      const cells = element.querySelector('.map-cells');
      cells.focus();
      const press = (key) => cells.dispatchEvent(new KeyboardEvent('keydown', { key }));
      for (let n = 0; n < height; ++n) press('ArrowUp');
      for (let row = 0; row < height; ++row) {
        for (let n = 0; n < width; ++n) press('ArrowLeft');
        rows.push([]);
        for (let n = 0; n < width; ++n) {
          rows[row].push(Number(/: ([\d.]+)$/.exec(element.querySelector('.map-value').textContent)?.[1]));
          press('ArrowRight');
        }
        press('ArrowDown');
      }
      return rows;
    });
    const only = async (terms) => {
      for (const name of 'abcd') await figure.input(name).setChecked(terms.includes(name));
      await page.waitForTimeout(500);
    };
    const text = [...'the cat sat on the mat'];
    const greatest = (row) => row.indexOf(Math.max(...row));
    await only('a');
    const a = await map();
    a.forEach((row, i) => row.forEach((p, j) => assert.equal(p > 0.05, j <= i && text[i] === text[j], `(a) ${i} ${j}`)));
    await look(page, 'terms a', 'terms-figure');
    await only('b');
    (await map()).forEach((row, i) => {
      const distance = 'aeiou'.includes(text[i]) ? 1 : 3;
      if (i >= 3) assert.equal(greatest(row), i - distance, `(b) ${i}`);
    });
    await look(page, 'terms b', 'terms-figure');
    await only('c');
    (await map()).forEach((row, i) => { if (i >= 3) assert.equal(text[greatest(row)], ' ', `(c) ${i}`); });
    await look(page, 'terms c', 'terms-figure');
    await only('d');
    (await map()).forEach((row, i) => assert.equal(greatest(row), i, `(d) ${i}`));
    await look(page, 'terms d', 'terms-figure');
    await only('');
    (await map()).forEach((row, i) => row.forEach((p, j) => assert.equal(p, j <= i ? Number((1 / (i + 1)).toFixed(3)) : 0)));
    await only('abcd');
    const all = await map();
    await look(page, 'terms abcd', 'terms-figure');
    await figure.slide('m', 5);
    await page.waitForTimeout(500);
    assert.deepEqual(await map(), all.slice(5));
    await figure.input('text').fill('aé');
    await page.waitForTimeout(500);
    assert.equal((await map()).length, 1);
    await figure.input('text').fill('');
    assert.ok(await figure.root.locator('[role=alert]').isHidden());
  },

  async 'storage-figure: a gradient lies where its value lies'({ open, look }) {
    const page = await open('storage'), figure = new Figure(page, 'storage-figure');
    const expected = {
      slice: [[[12, 13, 14]], [0, 0, 1, 2, 3, 0], 0],
      reverse: [[[15, 14, 13, 12, 11, 10]], [6, 5, 4, 3, 2, 1], 0],
      transpose: [[[10, 13], [11, 14], [12, 15]], [1, 3, 5, 2, 4, 6], 0],
      column: [[[11], [14], [17]], [0, 1, 0, 0, 2, 0, 0, 3, 0], 0],
      expand: [[[10, 11, 12, 13], [10, 11, 12, 13], [10, 11, 12, 13]], [15, 18, 21, 24], 0],
      rel_shift: [[[13, 14, 15], [16, 17, 18], [19, 20, 21]], [0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9], 0],
      chain: [[[19, 15, 11], [20, 16, 12]], [0, 3, 6, 0, 0, 2, 5, 0, 0, 1, 4, 0], 0],
      copy: [[[10, 13], [11, 14], [12, 15]], [1, 3, 5, 2, 4, 6], 1],
    };
    for (const [name, [view, gradient, entries]] of Object.entries(expected)) {
      await figure.root.locator('select').selectOption(name);
      await figure.shows([view, [gradient]], async () => [
        await figure.rows(({ text }) => Number(text), '.view'), await figure.rows(({ text }) => Number(text), '.gradient')]);
      assert.match(await figure.root.locator('.key').textContent(), new RegExp(`The tape has ${entries} entr`));
      await look(page, `storage ${name}`, 'storage-figure');
    }
    const options = await figure.root.locator('option').evaluateAll((all) => all.map(({ value }) => value));
    assert.deepEqual(options, Object.keys(expected));
  },

  async 'pages fit a phone, in light and dark, and cells do not move where motion is not wanted'({ open, look }) {
    for (const name of ['attention', 'positions', 'shift', 'memory', 'storage'])
      for (const colorScheme of ['light', 'dark']) {
        const page = await open(name, { viewport: { width: 360, height: 740 }, colorScheme, reducedMotion: 'reduce' });
        await page.waitForTimeout(700);
        assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 360, name);
        await look(page, `phone ${name} ${colorScheme}`);
        const moving = await page.evaluate(() => [...document.querySelectorAll('.field-cell')]
          .some((cell) => getComputedStyle(cell).transitionDuration !== '0s'));
        assert.ok(!moving, `${name}: cells move`);
      }
  },
};

async function main() {
  const ask = await native_library();
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] });
  const pictures = process.env.SCREENSHOTS;
  const wanted = process.argv[3];
  let failed = 0;
  for (const [name, run] of Object.entries(cases)) {
    if (wanted && !name.includes(wanted)) continue;
    const contexts = [], complaints = [];
    const open = async (chapter, options = {}) => {
      const context = await browser.newContext({ viewport: { width: 900, height: 900 }, ...options });
      contexts.push(context);
      const page = await context.newPage();
      page.on('pageerror', (error) => complaints.push(error.message));
      page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
      await page.goto(`file://${path.resolve(book, chapter)}.html`);
      return page;
    };
    const look = async (page, title, selector) => {
      if (!pictures) return;
      await page.waitForTimeout(moving_time);
      const target = selector ? page.locator(selector).first() : page;
      await target.screenshot({ path: path.join(pictures, `${title.replaceAll(' ', '_')}.png`), ...(selector ? {} : { fullPage: true }) });
    };
    const begin = Date.now();
    try {
      await run({ open, look, ask });
      assert.deepEqual(complaints, []);
      console.log(`ok      ${name} (${((Date.now() - begin) / 1000).toFixed(1)} s)`);
    } catch (error) {
      ++failed;
      console.log(`FAILED  ${name}\n${error.stack}`);
    }
    for (const context of contexts) await context.close();
  }
  await browser.close();
  process.exitCode = failed ? 1 : 0;
}

main();
