// <line-chart>: curves over a common axis, drawn by uPlot. The values show under the cursor, and, when the
// chart has the keyboard's focus, under the arrow keys.
//
//     chart.show({
//       title: 'Loss', x_title: 'step', y_title: 'nats',
//       curves: [{ name: 'shaw', xs: [1, 2, 3], ys: [4.1, 3.9, 3.2] }, …],
//     });

import uPlot from 'book/uplot.js';

/// Colours that can be told apart on white and on black, and by those who do not see red and green.
export const colors = ['#2978d6', '#d95f02', '#12967a', '#a855c8', '#8a8412', '#d63a7a', '#6b7280', '#a5641e'];
const grid = { stroke: '#8886', width: 1 };

const number = (value) => value === null || value === undefined ? '–' : value.toPrecision(4);

export class LineChart extends HTMLElement {
  #chart = null;
  #shown = null;
  #size = new ResizeObserver(() => this.#chart?.setSize(this.#extent()));

  connectedCallback() {
    if (!this.firstChild) {
      this.innerHTML = `<div class="chart-title"></div>
        <div class="chart-plot" tabindex="0" role="application" aria-roledescription="line chart"></div>
        <output class="chart-value"></output>`;
      this.#plot.addEventListener('keydown', (event) => this.#key(event));
      this.#plot.addEventListener('focus', () => this.#read(this.#chart?.data[0].length - 1));
      this.#plot.addEventListener('blur', () => this.#chart?.setCursor({ left: -10, top: -10 }));
    }
    this.#size.observe(this);
    if (this.#shown) this.#draw();
  }

  disconnectedCallback() { this.#size.disconnect(); }

  show(curves) {
    const same = this.#chart && names(this.#shown) === names(curves);
    this.#shown = curves;
    if (!this.isConnected) return;
    if (same) this.#chart.setData(aligned(curves.curves));
    else this.#draw();
    this.#label();
  }

  get #plot() { return this.querySelector('.chart-plot'); }

  #extent() {
    const width = Math.max(this.clientWidth, 120);
    return { width, height: Math.round(Math.min(Math.max(width * 0.5, 220), 320)) };
  }

  #draw() {
    const { title = '', x_title = '', curves } = this.#shown;
    this.querySelector('.chart-title').textContent = title;
    this.#chart?.destroy();
    const axis = { stroke: '#888', grid, ticks: grid };
    this.#chart = new uPlot({
      ...this.#extent(),
      scales: { x: { time: false } },
      axes: [{ ...axis, label: x_title }, { ...axis, label: this.#shown.y_title ?? '', size: 60 }],
      legend: { show: false },
      cursor: { drag: { setScale: false } },
      hooks: { setCursor: [({ cursor }) => this.#say(cursor.idx)] },
      series: [{}, ...curves.map(({ name }, n) => ({
        label: name, stroke: colors[n % colors.length], width: 1.5, points: { show: false }, spanGaps: true,
        dash: n < colors.length ? undefined : [6, 3],
      }))],
    }, aligned(curves), this.#plot);
    this.#label();
    this.#say(null);
  }

  /// What a screen reader says of the chart: where each curve begins and ends.
  #label() {
    const { title = '', x_title = '', curves } = this.#shown;
    const ends = curves.filter(({ ys }) => ys.length).map(({ name, xs, ys }) =>
      `${name} goes from ${number(ys[0])} to ${number(ys.at(-1))} at ${x_title} ${xs.at(-1)}`);
    this.#plot.setAttribute('aria-label', `${title}. ${ends.join('; ')}. The arrow keys read a point.`);
  }

  #key(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -20, PageDown: 20, Home: -Infinity, End: Infinity }[event.key];
    if (!step || !this.#chart) return;
    event.preventDefault();
    this.#read((this.#chart.cursor.idx ?? 0) + step);
  }

  /// Moves the cursor to a point.
  #read(n) {
    const xs = this.#chart?.data[0] ?? [];
    if (!xs.length) return;
    const at = Math.min(Math.max(n, 0), xs.length - 1);
    this.#chart.setCursor({ left: this.#chart.valToPos(xs[at], 'x'), top: 20 });
  }

  /// The legend, with the values at a point.
  #say(n) {
    const { curves, x_title = 'x' } = this.#shown;
    const value = this.querySelector('.chart-value');
    const data = this.#chart?.data;
    const at = n === null || n === undefined || !data ? '' : `${x_title} ${data[0][n]}: `;
    value.replaceChildren(at, ...curves.map(({ name }, row) => {
      const entry = document.createElement('span');
      entry.style.setProperty('--curve', colors[row % colors.length]);
      entry.textContent = at ? `${name} ${number(near(data[row + 1], n))}` : name;
      return entry;
    }));
  }
}

const names = (shown) => JSON.stringify([shown.title, shown.curves.map(({ name }) => name)]);

/// The columns that uPlot wants: all x in order, then each curve there, null where it has none.
function aligned(curves) {
  const tables = curves.map(({ xs, ys }) => [xs, ys]);
  return tables.length ? uPlot.join(tables) : [[]];
}

/// The value at a point, or the last one before it.
function near(ys, n) {
  while (n > 0 && (ys[n] === null || ys[n] === undefined)) --n;
  return ys[n];
}

customElements.define('line-chart', LineChart);
