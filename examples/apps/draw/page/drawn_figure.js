// <drawn-figure>: a chart or a heat map that the library draws (apps/draw/chart.h, apps/draw/heat_map.h). Its values show
// under the cursor, and, when it has the keyboard's focus, under the arrow keys. In a report it is there already;
// a page of the book asks for it:
//
//     figure.show({ chart: {
//       title: 'Loss', x_title: 'step', y_title: 'nats',
//       curves: [{ name: 'first run', xs: [1, 2, 3], ys: [4.1, 3.9, 3.2] }, …],
//     } });
//     figure.show({ map: {
//       title: 'head 0',
//       values: [[0.5, null], [0.1, 0.9]],           // rows of numbers; null is hidden
//       row_title: 'query', row_names: ['a', 'b'],   // names are optional; without them, numbers from 0
//       column_title: 'key', column_names: ['a', 'b'],
//       memory: 0,                                   // how many columns a line divides from the rest
//       limit: 1,                                    // the value of full colour; else the largest |value|
//       signed: true,                                // the colours of signed values, also without a negative one
//       bar: false,                                  // without it, a bar says what the colours mean
//     } });
//
// An event "cell" with detail {row, column} tells which cell of a map is read, or null, and `mark(row, column)`
// reads one without an event, so that several maps can move together. `describe(row, column, value)` replaces the
// sentence about a cell.

const within = (n, count) => Math.min(Math.max(n, 0), count - 1);
const digits = (value) => value === undefined ? '–' : String(Number(value.toPrecision(4)));

function svg_element(tag, attributes) {
  const made = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

/// The last of a curve's values up to some x.
const value_at = (points, x) => points.findLast((point) => point[0] <= x)?.[1];

/// Reads the points of a chart's curves, which are the coordinates of their paths.
class ChartReader {
  constructor(svg) {
    const { x, width } = svg.querySelector('.curves').viewBox.baseVal;
    this.plane = svg.querySelector('.plane');
    this.share = (place) => (place - x) / width;
    this.shown = svg.dataset.logarithmic === undefined ? digits : (place) => digits(Math.exp(place));
    this.title = svg.dataset.x || 'x';
    this.curves = [...svg.querySelectorAll('[data-name]')].map((path) => {
      const numbers = path.getAttribute('d').match(/-?\d[-+.\de]*/g)?.map(Number) ?? [];
      const points = [];
      for (let n = 0; n < numbers.length; n += 2) points.push([numbers[n], -numbers[n + 1]]);
      return { name: path.dataset.name, points };
    });
    this.places = [...new Set(this.curves.flatMap(({ points }) => points.map(([place]) => place)))].sort((a, b) => a - b);
  }

  first() { return this.places.length - 1; }
  keep(n) { return within(n, this.places.length); }

  /// The place that is nearest to the cursor.
  under({ clientX }) {
    const box = this.plane.querySelector('.frame').getBoundingClientRect();
    const far = (n) => Math.abs(this.share(this.places[n]) - (clientX - box.left) / box.width);
    return this.places.reduce((best, _, n) => far(n) < far(best) ? n : best, 0);
  }

  step(n, key) {
    const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -20, PageDown: 20, Home: -Infinity, End: Infinity }[key];
    return step && this.keep(n + step);
  }

  cursor(n) {
    const x = `${100 * this.share(this.places[n])}%`;
    return [this.plane, svg_element('line', { class: 'cursor', x1: x, x2: x, y1: 0, y2: '100%' })];
  }

  /// The legend, with the values at a place.
  say(n, output) {
    output.querySelector('b')?.remove();
    [...output.querySelectorAll('span')].forEach((entry, at) => {
      const { name, points } = this.curves[at];
      entry.textContent = n === null ? name : `${name} ${digits(value_at(points, this.places[n]))}`;
    });
    if (n === null) return;
    const at = document.createElement('b');
    at.textContent = `${this.title} ${this.shown(this.places[n])}:`;
    output.prepend(at);
  }
}

/// Reads the cells of a map, whose values are its metadata.
class MapReader {
  constructor(svg, describe) {
    Object.assign(this, JSON.parse(svg.querySelector('metadata').textContent), { describe });
    this.cells = svg.querySelector('.cells');
    this.frame = svg.querySelector('.frame');
    this.rows = Math.round(this.values.length / this.columns);
    this.names = JSON.stringify([this.row_names, this.column_names]);
  }

  first() { return { row: this.rows - 1, column: 0 }; }
  keep({ row, column }) { return { row: within(row, this.rows), column: within(column, this.columns) }; }

  value({ row, column }) {
    const value = this.values[row * this.columns + column];
    return value === null ? null : value * this.limit / 1000;
  }

  under({ clientX, clientY }) {
    const box = this.frame.getBoundingClientRect();
    return this.keep({ row: Math.floor((clientY - box.top) / box.height * this.rows),
                       column: Math.floor((clientX - box.left) / box.width * this.columns) });
  }

  step(cell, key) {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[key];
    return step && this.keep({ row: cell.row + step[0], column: cell.column + step[1] });
  }

  cursor({ row, column }) {
    return [this.cells, svg_element('rect', { class: 'cursor', x: column, y: row - 0.5, width: 1, height: 1 })];
  }

  say(cell, output) { output.textContent = cell === null ? '' : this.#sentence(cell); }

  #sentence({ row, column }) {
    const value = this.value({ row, column });
    if (this.describe) return this.describe(row, column, value);
    const name = (names, n) => names.length ? `${n} “${names[n]}”` : n;
    return `${this.row_title || 'row'} ${name(this.row_names, row)}, ${this.column_title || 'column'} ` +
      `${name(this.column_names, column)}: ${value === null ? 'hidden' : digits(value)}` + this.#row_sum(row);
  }

  /// Weights of a row sum to 1, which a reader may want to see.
  #row_sum(row) {
    const values = this.values.slice(row * this.columns, (row + 1) * this.columns);
    if (this.values.some((value) => value < 0)) return '';
    return `; its row sums to ${digits(values.reduce((sum, value) => sum + value, 0) * this.limit / 1000)}`;
  }
}

export class DrawnFigure extends HTMLElement {
  #reader = null;
  #place = null;   // what is read: the number of a place, or a cell
  #wanted = null;  // what to draw next
  #asking = false;
  #map = null;     // what is drawn for the width of its place
  #width = 0;
  #resized = new ResizeObserver(() => { if (this.#map && this.clientWidth !== this.#width) this.show(this.#map); });
  describe = null;

  disconnectedCallback() { this.#resized.disconnect(); }

  connectedCallback() {
    this.#resized.observe(this);
    if (!this.firstElementChild) this.innerHTML = '<div class="title"></div><div tabindex="0" role="application" aria-label="A figure"></div><output></output>';
    const drawing = this.#drawing;
    drawing.addEventListener('pointermove', (event) => this.#point(event));
    drawing.addEventListener('pointerdown', (event) => this.#point(event));
    // A finger leaves after each tap; what it read stays.
    drawing.addEventListener('pointerleave', ({ pointerType }) => {
      if (pointerType !== 'touch' && document.activeElement !== drawing) this.#move(null);
    });
    drawing.addEventListener('focus', () => this.#move(this.#place ?? this.#reader?.first() ?? null));
    drawing.addEventListener('blur', () => this.#move(null));
    drawing.addEventListener('keydown', (event) => this.#key(event));
    this.#read();
  }

  /// Shows a figure, at the place where the last one was read. While one is drawn, only the newest waits.
  async show(figure) {
    this.#wanted = figure;
    if (this.#asking) return;
    this.#asking = true;
    const { ask } = await import('book/library.js');
    try {
      while (this.#wanted) {
        const next = this.#wanted;
        this.#wanted = null;
        this.#map = next.map && next;
        this.#width = this.clientWidth;
        this.#replace((await ask({ do: 'draw', width: this.#width || 600, ...next })).html);
      }
    } finally {
      this.#asking = false;
    }
  }

  /// Marks a cell, or none, as another map does.
  mark(row, column) {
    this.#place = row === undefined ? null : { row, column };
    this.#show_place();
  }

  /// The names of a map's rows and columns.
  get names() { return this.#reader?.names; }

  /// The part that has the focus, while drawings come and go in it.
  get #drawing() { return this.children[1]; }

  #replace(html) {
    const made = Object.assign(document.createElement('template'), { innerHTML: html }).content.firstElementChild;
    for (const name of ['aria-label', 'aria-roledescription'])
      this.#drawing.setAttribute(name, made.children[1].getAttribute(name));
    [...this.children].forEach((part, n) => part.replaceChildren(...made.children[n].childNodes));
    this.#read();
  }

  #read() {
    const svg = this.querySelector('svg');
    if (!svg) return;
    for (const title of svg.querySelectorAll('text.faint'))
      if (['query', 'key'].includes(title.textContent)) title.classList.add(`means-${title.textContent}`);
    const before = this.#reader?.constructor;
    this.#reader = svg.classList.contains('map') ? new MapReader(svg, this.describe) : new ChartReader(svg);
    if (this.#place !== null && this.#reader.constructor === before) this.#place = this.#reader.keep(this.#place);
    this.#show_place();
  }

  #point(event) {
    if (this.#reader) this.#move(this.#reader.under(event));
  }

  #key(event) {
    const next = this.#reader?.step(this.#place ?? this.#reader.first(), event.key);
    if (next === undefined) return;
    event.preventDefault();
    this.#move(next);
  }

  #move(place) {
    if (JSON.stringify(place) === JSON.stringify(this.#place)) return;
    this.#place = place;
    this.#show_place();
    if (this.#reader instanceof MapReader) this.dispatchEvent(new CustomEvent('cell', { bubbles: true, detail: place }));
  }

  #show_place() {
    this.querySelector('.cursor')?.remove();
    if (!this.#reader) return;
    this.#reader.say(this.#place, this.lastElementChild);
    if (this.#place === null) return;
    const [parent, cursor] = this.#reader.cursor(this.#place);
    parent.append(cursor);
  }
}

customElements.define('drawn-figure', DrawnFigure);
