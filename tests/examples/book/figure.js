// A figure made of cells, as the checks in figures/ work it: by the keyboard, comparing what it shows with what
// they expect. Pictures of its states go into the folder that STATES names.

const assert = require('node:assert/strict');
const path = require('node:path');
const { most_wait } = require('./waiting.js');

const moving_time = 1000;  // milliseconds

const range = (count) => Array.from({ length: count }, (_, n) => n);
const below = (n) => String(n).replace('-', '₋').replace(/\d/g, (digit) => '₀₁₂₃₄₅₆₇₈₉'[digit]);

class Figure {
  constructor(page, root) { this.page = page; this.root = root; }

  /// Whether it stands in the chapter of this name.
  is_in(chapter) { return new URL(this.page.url()).pathname.endsWith(`/${chapter}.html`); }

  input(name) { return this.root.locator(`[name="${name}"]:not(output)`); }
  async number(name) { return Number(await this.input(name).inputValue()); }

  /// The values of all controls by name.
  values() {
    return this.root.evaluate((one) =>
      Object.fromEntries([...one.querySelectorAll('input, select')].map(({ name, value }) => [name, value])));
  }

  /// Moves a slider by the keyboard, with as few keys as bring it there: each one makes the figure compute.
  async slide(name, value) {
    const [now, least, most] = await this.input(name).evaluate((one) => {
      one.focus();
      return [one.value, one.min, one.max].map(Number);
    });
    const arrows = (from) => Array(Math.abs(value - from)).fill(from < value ? 'ArrowRight' : 'ArrowLeft');
    const ways = [arrows(now), ['Home', ...arrows(least)], ['End', ...arrows(most)]];
    const keys = ways.reduce((best, way) => way.length < best.length ? way : best);
    for (const key of keys) await this.page.keyboard.press(key);
    if (keys.length) assert.equal(await this.number(name), value, `${name} after ${keys.join(', ')}`);
  }

  /// What `read` makes of each cell {text, kind}, in rows.
  async rows(read, field = 'cell-field') {
    const cells = await this.root.locator(`${field} .field-cell`).evaluateAll((elements) =>
      elements.map(({ dataset, textContent, className }) => ({ ...dataset, text: textContent, kind: className.split(' ') })));
    const rows = [];
    for (const cell of cells) (rows[cell.row] ??= [])[cell.column] = read(cell);
    return rows;
  }

  /// Waits until `read` gives what is expected, since figures compute in a worker.
  async shows(expected, read) {
    for (const begin = Date.now(); ; await this.page.waitForTimeout(20))
      try {
        return assert.deepEqual(await read(), expected);
      } catch (error) {
        if (Date.now() - begin > most_wait) throw error;
      }
  }

  /// The sentence about the chosen cell.
  said() { return this.root.locator('.field-value').first().textContent(); }

  /// Asks the page's library.
  ask(request) {
    return this.page.evaluate(async (request) => (await import('book/library.js')).ask(request), request);
  }

  async look(title) {
    if (!process.env.STATES) return;
    await this.page.waitForTimeout(moving_time);
    await this.root.screenshot({ path: path.join(process.env.STATES, `${title.replaceAll(' ', '_')}.png`) });
  }
}

const is_open = ({ kind }) => !kind.includes('covered');

module.exports = { Figure, assert, below, is_open, range };
