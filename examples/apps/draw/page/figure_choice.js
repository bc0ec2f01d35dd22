// <figure-choice>: a figure of a report, of which its selects and sliders choose the parts that show: those whose
// data-NAME is the value of each control of that NAME; a slider says its option. A small map chooses its layer and its
// head. Maps of the same text read the same cell, and its query and its key are marked in the text below. Charts show the
// same part of their x axis, on the axes that the selects time, log_x, log_y and smoothing choose, and have one cursor.
// A button saves their numbers.

import 'book/map_choice.js';

const smoothings = [0, 5, 20, 100];  // points

/// A field of a CSV file (RFC 4180).
const field = (value) => /[",\r\n]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : String(value);

/// The numbers of all charts, a line for each point.
function csv_of(charts) {
  const lines = charts.flatMap(({ numbers: { title, x, curves } }) => curves.flatMap(({ name, points }) =>
    points.map((point) => [title, name ?? 'each batch', x, point.x, point.y, point.error || ''])));
  return [['chart', 'curve', 'axis', 'x', 'y', 'error'], ...lines].map((line) => `${line.map(field).join(',')}\r\n`).join('');
}

customElements.define('figure-choice', class extends HTMLElement {
  connectedCallback() {
    this.addEventListener('input', () => this.#show());
    this.addEventListener('choose', ({ detail }) => this.#choose(detail));
    this.addEventListener('cell', (event) => this.#mark(event.target, event.detail));
    this.addEventListener('zoom', ({ detail }) => this.#view(detail));
    this.addEventListener('place', ({ target, detail }) => {
      for (const chart of this.#charts) if (chart !== target) chart.read_at(detail.value);
    });
    this.#offer_numbers();
    this.#show();
  }

  get #charts() { return [...this.querySelectorAll('drawn-figure')].filter(({ numbers }) => numbers); }

  #offer_numbers() {
    if (!this.#charts.length) return;
    const button = Object.assign(document.createElement('button'), { type: 'button', name: 'csv', textContent: 'Save the numbers as CSV' });
    button.addEventListener('click', () => {
      const address = URL.createObjectURL(new Blob([csv_of(this.#charts)], { type: 'text/csv' }));
      Object.assign(document.createElement('a'), { href: address, download: 'numbers.csv' }).click();
      URL.revokeObjectURL(address);
    });
    this.append(button);
  }

  /// Chooses what a small map shows.
  #choose(chosen) {
    for (const [name, value] of Object.entries(chosen)) {
      const select = this.querySelector(`select[name=${name}]`);
      if (select) select.value = value;
    }
    this.#show();
  }

  #show() {
    const chosen = [...this.querySelectorAll('select, input[type=range]')].map(({ name, value }) => [name, value]);
    for (const { value, dataset, nextElementSibling: said } of this.querySelectorAll('input[type=range]'))
      said.textContent = dataset.options.split('|')[value];
    for (const part of this.querySelectorAll('div[data-at], div[data-example], div[data-kind], div[data-layer]'))
      part.hidden = chosen.some(([name, value]) => part.dataset[name] !== undefined && part.dataset[name] !== value);
    const values = Object.fromEntries(chosen), { time = '0', log_x = '0', log_y = '0', smoothing = '0' } = values;
    for (const maps of this.querySelectorAll('map-choice')) maps.mark(values);
    this.#view({ time: time === '1', log_x: log_x === '1', log_y: log_y === '1', smoothing: smoothings[smoothing] });
  }

  /// Changes what charts show. The other axis of x has other parts.
  #view(changes) {
    for (const figure of this.querySelectorAll('drawn-figure')) {
      const view = { ...figure.view, ...changes };
      figure.view = view.time === figure.view.time ? view : { ...view, low: null, high: null };
    }
  }

  #mark(read, cell) {
    for (const map of this.querySelectorAll('drawn-figure')) {
      if (map.names !== read.names) continue;
      if (map !== read) map.mark(cell?.row, cell?.column);
      for (const line of map.closest('.attention')?.querySelectorAll('.tokens') ?? [])
        [...line.children].forEach((token, at) => token.classList.toggle('marked', at === cell?.[line.dataset.axis]));
    }
  }
});
