// <worked-example layer="aft:form=full" t="3" m="2">: a layer worked through on whole numbers, as show_layer
// prints it. One pair of query and key is marked in all tables: the rows that it comes from, and what becomes
// of it.

import { set_formula } from 'book/formula.js';
import { ask } from 'book/library.js';

const number_input = (name, label, least, most, value) =>
  `<label>${label} <input type="number" name="${name}" min="${least}" max="${most}" value="${value}"></label>`;

/// The fewest digits after the point, up to 3, that show all values.
function digits_of(values) {
  const shows = (digits) => values.every((value) => Math.abs(value - Number(value.toFixed(digits))) < 1e-6);
  return [0, 1, 2].find(shows) ?? 3;
}

/// A number with a minus as wide as a digit, and without one before 0.
const shown = (value, digits) => value.toFixed(digits).replace(/^-(0(\.0*)?)$/, '$1').replace('-', '−');

/// The value of a table at two labels.
function value_at(table, row, column) {
  return table.values[table.rows.indexOf(row) * table.columns.length + table.columns.indexOf(column)];
}

function element(tag, text = '', attributes = {}) {
  const made = Object.assign(document.createElement(tag), { textContent: text });
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

class WorkedExample extends HTMLElement {
  #tables = [];
  #newest = 0;

  connectedCallback() {
    if (this.firstChild) return;
    const T = this.getAttribute('t') ?? 3;
    const M = this.getAttribute('m') ?? 2;
    this.innerHTML = `
      <div class="controls">
        ${number_input('T', 'new tokens T', 1, 8, T)}
        ${number_input('M', 'remembered tokens M', 0, 8, M)}
        ${number_input('i', 'query i', 0, T - 1, 0)}
        ${number_input('j', 'key j', 0, 15, 0)}
      </div>
      <p class="example-formula"></p>
      <output class="example-pair"></output>
      <div class="example-tables"></div>`;
    this.addEventListener('input', ({ target }) => 'TM'.includes(target.name) ? this.#ask() : this.#mark());
    this.querySelector('.example-tables').addEventListener('pointerover', ({ target }) => this.#point(target));
    this.#ask();
  }

  #input(name) { return this.querySelector(`[name=${name}]`); }

  async #ask() {
    const request = { do: 'worked_example', layer: this.getAttribute('layer'),
                      T: this.#input('T').valueAsNumber, M: this.#input('M').valueAsNumber };
    const asked = ++this.#newest;
    const formula = this.querySelector('.example-formula');
    try {
      const answer = await ask(request);
      if (asked !== this.#newest) return;
      formula.innerHTML = answer.formula.split(/(?<=,)\s{2,}/).map((part) => `<span>${set_formula(part)}</span> `).join('');
      formula.removeAttribute('role');
      this.#draw(answer.tables);
    } catch (error) {
      formula.textContent = error.message;
      formula.setAttribute('role', 'alert');
    }
  }

  #draw(tables) {
    this.#tables = tables;
    const pairs = tables.find(({ has_hidden }) => has_hidden);
    for (const [name, labels] of [['i', pairs?.rows ?? tables.at(-1).rows], ['j', pairs?.columns]]) {
      const input = this.#input(name);
      input.closest('label').hidden = !labels;
      input.max = (labels?.length ?? 1) - 1;
      if (input.valueAsNumber > input.max) input.value = input.max;
    }
    const visible = tables.find(({ name }) => name === 'visible');
    this.querySelector('.example-tables').replaceChildren(...tables.map((table) => {
      const made = element('table');
      made.append(this.#caption(table), this.#head(table), this.#body(table, visible));
      return made;
    }));
    this.#mark();
  }

  #caption({ name, meaning, rows, columns }) {
    const caption = element('caption');
    caption.append(element('b', name), ` [${rows.length}, ${columns.length}] `, element('small', meaning));
    return caption;
  }

  #head({ columns }) {
    const line = element('tr');
    line.append(element('td'), ...columns.map((label) => element('th', label, { scope: 'col' })));
    return line;
  }

  #body(table, visible) {
    const digits = digits_of(table.values);
    const body = element('tbody');
    body.append(...table.rows.map((row) => {
      const line = element('tr');
      line.append(element('th', row, { scope: 'row' }), ...table.columns.map((column) => {
        const hidden = table.has_hidden && value_at(visible, row, column) === 0;
        const value = shown(value_at(table, row, column), digits);
        return element('td', hidden ? `(${value})` : value,
                       { 'data-row': row, 'data-column': column, class: hidden ? 'hidden-pair' : '' });
      }));
      return line;
    }));
    return body;
  }

  /// Takes the query and the key of the cell under the cursor.
  #point({ dataset }) {
    if (!dataset.row && !dataset.column) return;
    for (const label of [dataset.row, dataset.column]) {
      const [name, value] = label.split('=');
      if (name === 'i' || name === 'j') this.#input(name).value = value;
    }
    this.#mark();
  }

  /// The labels that belong to the chosen pair: its query, its key, their distance, its row of a table.
  #labels() {
    const row = `i=${this.#input('i').value}`;
    const column = `j=${this.#input('j').value}`;
    const labels = new Set(['', row, column]);
    for (const name of ['δ', 'c']) {
      const table = this.#tables.find((table) => table.name === name && table.columns.includes(column));
      if (table) labels.add(`${name}=${value_at(table, row, column)}`);
    }
    return labels;
  }

  #mark() {
    const labels = this.#labels();
    const belongs = (label) => labels.has(label) || label.startsWith('d=');
    for (const cell of this.querySelectorAll('td[data-row]'))
      cell.classList.toggle('of-pair', belongs(cell.dataset.row) && belongs(cell.dataset.column));
    const [, row, column] = labels;
    const values = this.#tables.filter(({ rows, columns }) => rows.includes(row) && columns.includes(column))
      .map((table) => `${table.name} ${shown(value_at(table, row, column), digits_of(table.values))}`);
    this.querySelector('.example-pair').textContent =
      values.length ? `Query ${row.slice(2)} and key ${column.slice(2)}: ${values.join(', ')}.` : '';
  }
}

customElements.define('worked-example', WorkedExample);
