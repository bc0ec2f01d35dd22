// <clipped-distances i="5" m="2">: the keys of one query on the left, the vectors of clipped distances on the right, and a
// line from each key to the vector that it reads. Far keys share one, so that its product with the query is made once.

import { attempt, element, fixed, in_brackets, part, slider } from 'book/elements.js';
import { ask } from 'book/library.js';
import { below } from 'book/subscripts.js';

const T = 8, most = 4;

/// The library's tables by name, worked through on whole numbers.
async function worked_through(m, sees_ahead) {
  const layer = `shaw_attention:max_distance=${m}${sees_ahead ? ',causal=false' : ''}`;
  const { tables } = await ask({ do: 'worked_example', layer, T, M: 0 });
  return Object.fromEntries(tables.map((table) => [table.name, table]));
}

const row_of = ({ columns, values }, row) => values.slice(row * columns.length, (row + 1) * columns.length);
const distance = (delta) => delta === 0 ? 'itself' : `${Math.abs(delta)} ${delta > 0 ? 'back' : 'ahead'}`;
const listed = (names, word = 'and') => names.length === 1 ? names[0] : `${names.slice(0, -1).join(', ')} ${word} ${names.at(-1)}`;

/// A line of the picture: its name, what it says of itself, and a number.
function line(color, name, said, number) {
  const made = element('div', '', number === '' ? {} : { style: `--row: var(--cell-${color})` });
  made.append(element('b', name), element('span', said), element('i', number));
  return made;
}

customElements.define('clipped-distances', class extends HTMLElement {
  #asked = 0;
  #tables = null;

  connectedCallback() {
    if (this.firstChild) return;
    this.innerHTML = `
      <div class="controls">
        ${slider({ name: 'm', title: 'Clipped at m', most, start: this.getAttribute('m') })}
        ${slider({ name: 'i', title: 'Query i', most: T - 1, start: this.getAttribute('i') })}
        <label><input type="checkbox" name="ahead"> Keys ahead, too</label>
      </div>
      <p class="asks"></p>
      <div class="clipped"><div class="keys"></div>
        <svg viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true"></svg>
        <div class="vectors"></div></div>
      <p class="key"></p>
      <p role="alert" hidden></p>`;
    this.addEventListener('input', ({ target }) => target.name === 'i' ? this.#draw() : this.#compute());
    this.#compute();
  }

  #number(name) { return Number(part(this, name).value); }

  async #compute() {
    const asked = ++this.#asked;
    await attempt(this, async () => {
      const tables = await worked_through(this.#number('m'), part(this, 'ahead').checked);
      if (asked !== this.#asked) return;
      this.#tables = tables;
      this.#draw();
    });
  }

  #draw() {
    for (const name of ['m', 'i']) this.querySelector(`output[name=${name}]`).replaceChildren(part(this, name).value);
    if (!this.#tables) return;
    const i = this.#number('i'), { q, a, c, δ, visible } = this.#tables;
    const [rows, distances, sees] = [c, δ, visible].map((table) => row_of(table, i));
    const gathered = row_of(this.#tables['q·a'], i), products = row_of(this.#tables['q·a by row'], i);
    const read_by = products.map((_, row) => rows.flatMap((own, j) => own === row && sees[j] ? [j] : []));
    this.querySelector('.asks').textContent = `q${below(i)} = ${in_brackets(row_of(q, i), 0)}`;
    this.querySelector('.keys').replaceChildren(...rows.map((row, j) =>
      line(row, `k${below(j)}`, distance(distances[j]), sees[j] ? fixed(gathered[j], 0) : '')));
    this.querySelector('.vectors').replaceChildren(...products.map((product, row) =>
      line(row, `a${below(row)}`, in_brackets(row_of(a, row), 0), read_by[row].length ? fixed(product, 0) : '')));
    const at = (n, count) => 100 * (n + 0.5) / count;
    this.querySelector('svg').innerHTML = rows.map((row, j) => {
      const [from, to] = [at(j, T), at(row, products.length)];
      return sees[j] ? `<path d="M0 ${from}C50 ${from} 50 ${to} 100 ${to}" style="--row: var(--cell-${row})"/>` : '';
    }).join('');
    this.querySelector('.key').textContent = this.#said(i, gathered, read_by);
  }

  /// Which keys share a vector.
  #said(i, gathered, read_by) {
    const shared = read_by.flatMap((keys, row) => keys.length < 2 ? []
      : [`${listed(keys.map((j) => `k${below(j)}`))} share a${below(row)}, and the product q${below(i)}·a${below(row)} = ${fixed(gathered[keys[0]], 0)}, which is made once.`]);
    const unread = read_by.flatMap((keys, row) => keys.length ? [] : [`a${below(row)}`]);
    return [
      shared.join(' ') || 'No two keys share a vector.',
      ...unread.length ? [`This query reads no key through ${listed(unread, 'or')}.`] : [],
    ].join(' ');
  }
});
