// <worked-example layer="aft:form=full" t="3" m="2">: a layer worked through on whole numbers, as show_layer
// prints it, in steps that unfold: what goes in, each term of the score, the score, its weights, the answer. One
// pair of query and key is marked in all tables: the rows that it comes from, and what becomes of it. Each step says
// its number beside its name, so that the folded steps are the computation of that pair. The pair's dot products are
// written out. It begins with the last query, which sees the most.

import { digits_of, dot_products } from 'book/dot_products.js';
import { element, fixed } from 'book/elements.js';
import { set_formula, set_name, set_words } from 'book/formula.js';
import { ask } from 'book/library.js';

const number_input = (name, label, least, most, value) =>
  `<label>${label} <input type="number" name="${name}" min="${least}" max="${most}" value="${value}"></label>`;

/// The value of a table at two labels.
function value_at(table, row, column) {
  return table.values[table.rows.indexOf(row) * table.columns.length + table.columns.indexOf(column)];
}

const has = (labels, name) => labels[0].startsWith(`${name}=`);
const is_of_pairs = ({ rows, columns }) => has(rows, 'i') && has(columns, 'j');

/// The tables in steps. The first has what goes in. Each other one ends with a table that hides pairs, or with the
/// last table; where no table hides any, each is a step.
function steps_of(tables) {
  const hides = tables.some(({ has_hidden }) => has_hidden);
  const inputs = tables.findIndex((table) => hides ? is_of_pairs(table) : has(table.rows, 'i'));
  const steps = [tables.slice(0, inputs), []];
  for (const table of tables.slice(inputs)) {
    steps.at(-1).push(table);
    if (table.has_hidden || !hides) steps.push([]);
  }
  return steps.filter((step) => step.length);
}

/// How strong a cell's colour is, for a table whose largest value is `most`.
const tint = (value, most) => most > 0 ? Math.round(38 * Math.abs(value) / most) : 0;

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
        ${this.getAttribute('layer') === 'cross_attention' ? number_input('M', 'source tokens S', 1, 8, M)
          : number_input('M', 'remembered tokens M', 0, 8, M)}
        ${number_input('i', 'query i', 0, T - 1, T - 1)}
        ${number_input('j', 'key j', 0, 15, 0)}
      </div>
      <p class="example-formula"></p>
      <output class="example-pair"></output>
      <div class="example-products"></div>
      <div class="example-steps"></div>`;
    this.addEventListener('input', ({ target }) => 'TM'.includes(target.name) ? this.#ask() : this.#mark());
    this.querySelector('.example-steps').addEventListener('pointerover', ({ target }) => this.#point(target));
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
      if (asked !== this.#newest) return;
      for (const name of ['pair', 'products', 'steps']) this.querySelector(`.example-${name}`).replaceChildren();
      this.#tables = [];
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
    const place = this.querySelector('.example-steps');
    const before = [...place.children].map(({ open }) => open);
    place.replaceChildren(...steps_of(tables).map((step, n) => {
      const made = element('details'), inside = element('div', '', { class: 'example-tables' });
      made.open = before[n] ?? n === 0;
      made.append(this.#summary(step, n), inside);
      inside.append(...step.map((table) => {
        const drawn = element('table');
        drawn.append(this.#caption(table, n > 0 && table === step.at(-1)), this.#head(table), this.#body(table, visible));
        return drawn;
      }));
      return made;
    }));
    this.#mark();
  }

  /// What a step is called, with a place for its number: the last of its tables, or all that goes in.
  #summary(step, n) {
    const { name, meaning } = step.at(-1);
    const summary = element('summary'), words = element('span');
    words.innerHTML = n === 0 ? `${step.map(({ name }) => `<b>${set_name(name)}</b>`).join(', ')} what goes in`
      : `<b>${set_name(name)}</b> ${set_words(meaning)}`;
    summary.append(words, element('span', '', { class: 'of-step', 'data-table': n === 0 ? '' : name }));
    return summary;
  }

  #caption({ name, meaning, rows, columns }, is_said) {
    const caption = element('caption');
    caption.innerHTML = `<b>${set_name(name)}</b> [${rows.length}, ${columns.length}]` +
      (is_said ? '' : ` <small>${set_words(meaning)}</small>`);
    return caption;
  }

  #head({ columns }) {
    const line = element('tr');
    line.append(element('td'), ...columns.map((label) => element('th', label, { scope: 'col' })));
    return line;
  }

  #body(table, visible) {
    const digits = digits_of(table.values), most = Math.max(...table.values.map(Math.abs));
    const body = element('tbody');
    body.append(...table.rows.map((row) => {
      const line = element('tr');
      line.append(element('th', row, { scope: 'row' }), ...table.columns.map((column) => {
        const hidden = table.has_hidden && value_at(visible, row, column) === 0;
        const value = value_at(table, row, column), text = fixed(value, digits);
        const cell = element('td', hidden ? `(${text})` : text,
                             { 'data-row': row, 'data-column': column, class: hidden ? 'hidden-pair' : '' });
        cell.style.setProperty('--tint', `${tint(value, most)}%`);
        cell.classList.toggle('below-0', value < 0);
        return cell;
      }));
      return line;
    }));
    return body;
  }

  /// What a table has for a query and a key: a number, or the numbers of the query's row, if they are few.
  #values_of(table, row, column) {
    const digits = digits_of(table.values);
    if (!table.rows.includes(row)) return '';
    if (table.columns.includes(column)) return fixed(value_at(table, row, column), digits);
    return table.columns.length > 4 ? '' : table.columns.map((one) => fixed(value_at(table, row, one), digits)).join('  ');
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
    const [i, j] = ['i', 'j'].map((name) => `${name}=${this.#input(name).value}`), pairs = this.#tables.find(is_of_pairs);
    if (pairs && !(pairs.rows.includes(i) && pairs.columns.includes(j))) return;  // until its tables are there
    const labels = this.#labels();
    const belongs = (label) => labels.has(label) || label.startsWith('d=');
    for (const cell of this.querySelectorAll('td[data-row]'))
      cell.classList.toggle('of-pair', belongs(cell.dataset.row) && belongs(cell.dataset.column));
    const [, row, column] = labels;
    for (const place of this.querySelectorAll('.of-step')) {
      const table = this.#tables.find(({ name }) => name === place.dataset.table);
      place.textContent = table ? this.#values_of(table, row, column) : '';
    }
    const value_of = (table) => fixed(value_at(table, row, column), digits_of(table.values));
    this.querySelector('.example-products').innerHTML = dot_products(this.#tables, labels, value_of);
    const values = this.#tables.filter(({ rows, columns }) => rows.includes(row) && columns.includes(column))
      .map((table) => `${table.name} = ${value_of(table)}`);
    this.querySelector('.example-pair').textContent =
      values.length ? `Query ${row.slice(2)} and key ${column.slice(2)}: ${values.join(', ')}.` : '';
  }
}

customElements.define('worked-example', WorkedExample);
