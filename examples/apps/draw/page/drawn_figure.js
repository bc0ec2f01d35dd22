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
//
// An event "place" with detail {value} tells which value of a chart's x axis is read, or null, and `read_at(value)` reads
// one without an event, so that the charts of one axis have one cursor.
//
// A chart shows a part of its x axis that one drags over, or that + and - choose around the place that is read. A
// button, 0 and Escape show all of it again. An event "zoom" with detail {low, high} tells of it, and `view` is
// what shows (chart_view.js), so that several charts can move together.

import { ChartReader, digits, svg_element, whole, within } from 'book/chart_view.js';

const least_drag = 6;  // pixels
const all_of_it = { low: null, high: null };

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
  #view = whole;   // how a chart shows
  #dragged = null; // where a part of it begins that is chosen with the cursor
  #resized = new ResizeObserver(() => this.#resize());
  describe = null;

  disconnectedCallback() { this.#resized.disconnect(); }

  connectedCallback() {
    this.#resized.observe(this);
    if (!this.firstElementChild) this.innerHTML = '<div class="title"></div><div tabindex="0" role="application" aria-label="A figure"></div><output></output>';
    if (!this.#button) this.insertAdjacentHTML('beforeend', '<button type="button" hidden>Show all of it</button>');
    const drawing = this.#drawing;
    drawing.addEventListener('pointermove', (event) => this.#point(event));
    drawing.addEventListener('pointerdown', (event) => this.#grip(event));
    drawing.addEventListener('pointerup', (event) => this.#release(event));
    drawing.addEventListener('pointercancel', () => this.#drop());
    // A finger leaves after each tap; what it read stays.
    drawing.addEventListener('pointerleave', ({ pointerType }) => {
      if (pointerType !== 'touch' && document.activeElement !== drawing) this.#move(null);
    });
    drawing.addEventListener('focus', () => this.#move(this.#place ?? this.#reader?.first() ?? null));
    drawing.addEventListener('blur', () => this.#move(null));
    drawing.addEventListener('keydown', (event) => this.#key(event));
    this.#button.addEventListener('click', () => {
      this.#zoom(all_of_it);
      drawing.focus();
    });
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

  /// Draws a map anew for another width. What waits will be drawn for it, and what is hidden has none.
  #resize() {
    const { clientWidth: width } = this;
    if (this.#map && !this.#wanted && width && width !== this.#width) this.show(this.#map);
  }

  /// Marks a cell, or none, as another map does.
  mark(row, column) {
    this.#place = row === undefined ? null : { row, column };
    this.#show_place();
  }

  /// Reads a chart at a value of its x axis, or nowhere, as another chart does.
  read_at(value) {
    if (!this.#is_chart || !this.#reader.places.length) return;
    this.#place = value === null ? null : this.#reader.nearest(value);
    this.#show_place();
  }

  /// The numbers of a chart's curves, all of them: {title, x, curves: [{name, points}]}; of a map, null.
  get numbers() {
    if (!this.#is_chart) return null;
    return { title: this.querySelector('.title').textContent, x: this.#reader.title, curves: this.#reader.all_curves };
  }

  /// The names of a map's rows and columns.
  get names() { return this.#reader?.names; }

  get view() { return this.#view; }
  set view(view) {
    if (JSON.stringify(view) === JSON.stringify(this.#view)) return;
    if (view.time !== this.#view.time) this.#place = null;
    this.#view = view;
    this.#draw_view();
    this.#show_place();
  }

  /// What is read, or null: a value of a chart's x axis, or a map's cell.
  get place() { return this.#is_chart && this.#place !== null ? this.#reader.places[this.#place] : this.#place; }
  set place(place) { this.#move(this.#is_chart && place !== null ? this.#reader.nearest(place) : place); }

  /// The part that has the focus, while drawings come and go in it.
  get #drawing() { return this.children[1]; }
  get #output() { return this.querySelector('output'); }
  get #button() { return this.querySelector('button'); }
  get #is_chart() { return this.#reader instanceof ChartReader; }

  #replace(html) {
    const made = Object.assign(document.createElement('template'), { innerHTML: html }).content.firstElementChild;
    for (const name of ['aria-label', 'aria-roledescription'])
      this.#drawing.setAttribute(name, made.children[1].getAttribute(name));
    [...made.children].forEach((part, n) => this.children[n].replaceChildren(...part.childNodes));
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
    if (this.#view !== whole) this.#draw_view();
    this.#show_place();
  }

  #draw_view() {
    if (!this.#is_chart) return;
    this.#reader.draw(this.#view);
    this.#button.hidden = this.#view.low === null;
    if (this.#place !== null) this.#place = this.#reader.keep(this.#place);
  }

  #point(event) {
    if (!this.#reader) return;
    this.#move(this.#reader.under(event));
    if (this.#dragged !== null) this.#reader.mark(this.#dragged, this.#reader.share_under(event));
  }

  #grip(event) {
    this.#point(event);
    if (!this.#is_chart || event.button) return;
    this.#dragged = this.#reader.share_under(event);
    if (event.isTrusted) this.#drawing.setPointerCapture(event.pointerId);
  }

  #release(event) {
    if (this.#dragged === null) return;
    const ends = [this.#dragged, this.#reader.share_under(event)].sort((a, b) => a - b);
    this.#drop();
    const { width } = this.#reader.frame.getBoundingClientRect();
    if ((ends[1] - ends[0]) * width >= least_drag) this.#zoom(this.#reader.part(...ends));
  }

  #drop() {
    this.#dragged = null;
    this.querySelector('.chosen')?.remove();
  }

  /// Shows a part of the x axis; without ends it is all of it.
  #zoom(detail) {
    this.view = { ...this.#view, ...detail };
    this.dispatchEvent(new CustomEvent('zoom', { bubbles: true, detail }));
  }

  /// Shows half or twice as much, around the place that is read.
  #magnify(factor) {
    const at = this.#reader.share(this.#place ?? this.#reader.first());
    this.#zoom(this.#reader.part(at - factor / 2, at + factor / 2));
  }

  /// Moves the part that shows to a place beyond its ends.
  #follow(place) {
    const at = this.#reader.share(place);
    if (this.#view.low !== null && (at < 0 || at > 1)) this.#zoom(this.#reader.part(at - 0.5, at + 0.5));
  }

  #key(event) {
    const ways = { '+': 0.5, '=': 0.5, '-': 2, 0: Infinity, Escape: Infinity };
    const factor = this.#is_chart && !event.ctrlKey && !event.metaKey ? ways[event.key] : undefined;
    if (factor === Infinity) this.#zoom(all_of_it);
    else if (factor) this.#magnify(factor);
    if (factor) return event.preventDefault();
    const next = this.#reader?.step(this.#place ?? this.#reader.first(), event.key);
    if (next === undefined) return;
    event.preventDefault();
    if (this.#is_chart) this.#follow(next);
    this.#move(next);
  }

  #move(place) {
    if (JSON.stringify(place) === JSON.stringify(this.#place)) return;
    this.#place = place;
    this.#show_place();
    const tell = (name, detail) => this.dispatchEvent(new CustomEvent(name, { bubbles: true, detail }));
    if (this.#reader instanceof MapReader) tell('cell', place);
    else tell('place', { value: this.place });
  }

  #show_place() {
    this.querySelector('.cursor')?.remove();
    if (!this.#reader) return;
    this.#reader.say(this.#place, this.#output);
    if (this.#place === null) return;
    const [parent, cursor] = this.#reader.cursor(this.#place);
    parent.append(cursor);
  }
}

customElements.define('drawn-figure', DrawnFigure);
