// <heat-map>: a matrix as colours. The value of a cell shows under the cursor, and, when the map has the
// keyboard's focus, under the arrow keys.
//
//     map.show({
//       title: 'head 0',                             // the caption, and what a screen reader says
//       values: [[0.5, null], [0.1, 0.9]],           // rows of numbers; null is hidden
//       row_title: 'query', row_names: ['a', 'b'],   // names are optional; without them, numbers from 0
//       column_title: 'key', column_names: ['a', 'b'],
//       memory: 0,                                   // how many columns a line divides from the rest
//       limit: 1,                                    // the value of full colour; else the largest |value|
//     });
//
// Names stand beside the rows and below the columns; where they have no room, some are left out.
//
// Positive values are blue, negative ones orange, on whatever the page's colour is. `describe(row, column,
// value)` replaces the sentence about a cell. An event "cell" with detail {row, column} tells which cell is
// shown, or null, and `mark(row, column)` shows one without an event, so that several maps can move together.

const positive = [41, 120, 214];
const negative = [217, 95, 2];
const hidden = [128, 128, 128, 45];

const least_letter = 9, least_room = 8;  // pixels: the size of a name, and what a row or a column has for it

/// The red, green, blue and opacity of a value.
function color(value, limit) {
  if (value === null || Number.isNaN(value)) return hidden;
  const strength = limit > 0 ? Math.min(Math.abs(value) / limit, 1) : 0;
  return [...(value < 0 ? negative : positive), 255 * strength];
}

/// Three digits that count, without a tail of zeros.
export function digits(value) {
  return value === null ? 'hidden' : String(Number(value.toPrecision(3)));
}

/// A character as one can see it.
export function visible(name) {
  return String(name).replaceAll(' ', '␣').replaceAll('\n', '⏎').replaceAll('\t', '⇥');
}

/// Every n-th name, at its place.
function labels(names, every) {
  return names.flatMap((name, n) => {
    if (n % every) return [];
    const label = document.createElement('span');
    label.textContent = visible(name);
    label.style.setProperty('--at', n);
    return [label];
  });
}

export class HeatMap extends HTMLElement {
  #shown = null;
  #cell = null;
  #size = new ResizeObserver(() => this.#name_axes());

  connectedCallback() {
    this.#size.observe(this);
    if (this.firstChild) return;
    this.innerHTML = `
      <div class="map-title"></div>
      <div class="map-row-title"></div>
      <div class="map-plane">
        <div class="map-row-names" aria-hidden="true"></div>
        <div class="map-cells" tabindex="0" role="application" aria-roledescription="heat map">
          <canvas></canvas><div class="map-memory" hidden></div><div class="map-cursor" hidden></div>
        </div>
        <div class="map-column-names" aria-hidden="true"></div>
      </div>
      <div class="map-column-title"></div>
      <output class="map-value"></output>`;
    const cells = this.#part('cells');
    cells.addEventListener('pointermove', (event) => this.#point(event));
    cells.addEventListener('pointerdown', (event) => this.#point(event));
    cells.addEventListener('pointerleave', () => { if (document.activeElement !== cells) this.#move(null); });
    cells.addEventListener('focus', () => this.#move(this.#cell ?? { row: this.#rows - 1, column: 0 }));
    cells.addEventListener('blur', () => this.#move(null));
    cells.addEventListener('keydown', (event) => this.#key(event));
    if (this.#shown) this.#draw();
  }

  disconnectedCallback() { this.#size.disconnect(); }

  /// Shows a matrix, at the cell where the last one was read.
  show(matrix) {
    this.#shown = matrix;
    if (this.isConnected) this.#draw();
  }

  /// Marks a cell, or none, as another map does.
  mark(row, column) {
    this.#cell = row === undefined ? null : { row, column };
    this.#show_cell();
  }

  get #rows() { return this.#shown?.values.length ?? 0; }
  get #columns() { return this.#shown?.values[0]?.length ?? 0; }
  #part(name) { return this.querySelector(`.map-${name}`); }

  #draw() {
    const { values, title = '', row_title = '', column_title = '' } = this.#shown;
    const limit = this.#shown.limit ?? Math.max(...values.flat().map((value) => Math.abs(value ?? 0)));
    this.#part('title').textContent = title;
    this.#part('row-title').textContent = row_title && `↓ ${row_title}`;
    this.#part('column-title').textContent = column_title && `→ ${column_title}`;
    this.#part('cells').setAttribute('aria-label',
      `${title}: ${this.#rows} rows${row_title && ` (${row_title})`}, ${this.#columns} columns` +
      `${column_title && ` (${column_title})`}. The arrow keys read a cell.`);
    this.style.setProperty('--map-rows', this.#rows);
    this.style.setProperty('--map-columns', this.#columns);
    const canvas = this.querySelector('canvas');
    canvas.width = this.#columns;
    canvas.height = this.#rows;
    const image = new ImageData(Math.max(this.#columns, 1), Math.max(this.#rows, 1));
    image.data.set(values.flat().flatMap((value) => color(value, limit)));
    canvas.getContext('2d').putImageData(image, 0, 0);
    this.#part('memory').hidden = !(this.#shown.memory > 0);
    this.style.setProperty('--map-memory', this.#shown.memory);
    this.#name_axes();
    this.#show_cell();
  }

  /// The names of rows and columns, as many as there is room for.
  #name_axes() {
    if (!this.#shown) return;
    const { row_names = [], column_names = [] } = this.#shown;
    const longest = Math.max(0, ...row_names.map((name) => [...String(name)].length));
    this.style.setProperty('--map-longest', longest);
    const cell = this.#part('cells').clientWidth / Math.max(this.#columns, 1);
    if (!(cell > 0)) return;
    const every = Math.ceil(least_room / cell);
    this.style.setProperty('--map-letter', `${Math.min(Math.max(cell * 0.9, least_letter), 14)}px`);
    this.#part('row-names').replaceChildren(...labels(row_names, every));
    this.#part('column-names').replaceChildren(...labels(column_names, every));
    this.classList.toggle('long-names', column_names.some((name) => [...String(name)].length > 1));
  }

  #point(event) {
    const box = this.querySelector('canvas').getBoundingClientRect();
    const at = (position, size, count) => Math.min(Math.max(Math.floor(position / size * count), 0), count - 1);
    if (this.#shown)
      this.#move({ row: at(event.clientY - box.top, box.height, this.#rows),
                   column: at(event.clientX - box.left, box.width, this.#columns) });
  }

  #key(event) {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!step || !this.#shown) return;
    event.preventDefault();
    const within = (n, count) => Math.min(Math.max(n, 0), count - 1);
    const { row, column } = this.#cell ?? { row: 0, column: 0 };
    this.#move({ row: within(row + step[0], this.#rows), column: within(column + step[1], this.#columns) });
  }

  #move(cell) {
    if (cell?.row === this.#cell?.row && cell?.column === this.#cell?.column) return;
    this.#cell = cell;
    this.#show_cell();
    this.dispatchEvent(new CustomEvent('cell', { detail: cell }));
  }

  #show_cell() {
    const cursor = this.#part('cursor');
    const value = this.#cell && this.#shown?.values[this.#cell.row]?.[this.#cell.column];
    const seen = value !== null && value !== undefined || value === null && this.#cell !== null;
    if (!cursor) return;
    cursor.hidden = !seen || value === undefined;
    this.#part('value').textContent = cursor.hidden ? '' : this.#sentence(value);
    if (cursor.hidden) return;
    cursor.style.setProperty('--row', this.#cell.row);
    cursor.style.setProperty('--column', this.#cell.column);
  }

  #sentence(value) {
    const { row, column } = this.#cell;
    const { describe, row_names, column_names, row_title = 'row', column_title = 'column' } = this.#shown;
    if (describe) return describe(row, column, value);
    const name = (names, n) => names ? `${n} “${visible(names[n])}”` : n;
    return `${row_title} ${name(row_names, row)}, ${column_title} ${name(column_names, column)}: ${digits(value)}`;
  }
}

customElements.define('heat-map', HeatMap);
