// <sentence-score shows="content">: the sentence of relative.html, and what the library computes for it (make/sentences.js
// gives the layer):
//
//     content   a query and all keys, their products, weights and the mean of values: attention without positions
//     terms     the four terms of each word that a query may read
//     shift     the terms by distance, as rows that move until a column has one key
//     memory    all scores, behind a memory of the first words
//     whole     the terms, the weights and the mean of a query behind a memory
//
// Where a query is shown, one chooses who asks, and a key whose products are then written out.

import { attempt, choices, element, fixed, part, slider } from 'book/elements.js';
import { dot_products } from 'book/dot_products.js';
import { set_formula } from 'book/formula.js';
import { ask } from 'book/library.js';

const means = {
  'q': 'query', 'k': 'key', 'v': 'value', 'y': 'value', 'δ': 'distance', 'score': 'query', 'p': 'query',
  'q·k': 'content-content', 'q·r': 'content-position', 'u·k': 'content-bias', 'v·r': 'position-bias',
};
const names = { δ: 'distance', p: 'weight', k: 'key', v: 'value' };

/// Numbers that a millionth keeps from being short, as a table has them.
const rounded = (table) => ({ ...table, values: table.values.map((value) => Math.round(value * 1e5) / 1e5) });

/// A number in as few digits as it needs, or two.
const short = (value) => fixed(value, Number.isInteger(value) ? 0 : Number.isInteger(2 * value) ? 1 : 2);

/// The library's tables by name, for the words behind a memory of the first M.
async function worked_through({ config, tensors }, M) {
  const { 'input.x': { shape: [, length, C], values }, ...given } = tensors;
  const words = (begin, end) => ({ shape: [1, end - begin, C], values: values.slice(begin * C, end * C) });
  const { tables } = await ask({
    do: 'worked_example', layer: 'transformer_xl_attention', config,
    tensors: { ...given, 'input.x': words(M, length), ...M > 0 && { 'input.memory': words(0, M) } },
  });
  return new Map(tables.map((table) => [table.name, rounded(table)]));
}

const zeros = (tensor) => ({ ...tensor, values: tensor.values.map(() => 0) });

/// Attention that knows of no positions, and asks nothing for everyone.
function without_positions({ config, tensors }) {
  const of_positions = Object.entries(tensors).filter(([name]) => /position|bias/.test(name));
  return { config, tensors: { ...tensors, ...Object.fromEntries(of_positions.map(([name, tensor]) => [name, zeros(tensor)])) } };
}

/// The tables that are not there without positions.
const has_positions = (name) => /^(u|r|position_bias|u·k|q·r|v·r)\b/.test(name);

/// A layer whose queries are q + v, so that one product by distance has both terms with r.
function with_bias_in_queries({ words, config, tensors }) {
  const weight = tensors['param.qkv.weight'], v = tensors['param.position_bias'], C = weight.shape[1];
  const values = weight.values.map((value, n) => {
    const row = Math.floor(n / C), is_word = n % C < new Set(words).size;
    return row < v.values.length && is_word ? value + v.values[row] : value;
  });
  return { config, tensors: { ...tensors, 'param.qkv.weight': { ...weight, values }, 'param.position_bias': zeros(v) } };
}

const at = ({ values, columns }, row, column) => values[row * columns.length + column];
const number = (text, meaning, more = '') => element('td', text, { class: `means-${meaning} ${more}` });
const label = (name) => {
  const made = element('th', '', { scope: 'row', class: `means-${means[name]}` });
  made.innerHTML = names[name] ?? set_formula(name);
  return made;
};
const line = (...cells) => {
  const made = element('tr');
  made.append(...cells);
  return made;
};

class SentenceScore extends HTMLElement {
  #layer;
  #asked = 0;
  #tables;    // of the sentence behind its memory
  #at_once;   // of the sentence without a memory

  connectedCallback() {
    if (this.firstChild) return;
    this.#layer = JSON.parse(this.getAttribute('layer'));
    const named = this.#words.map((word, n) => `${n} ${word}`), last = named.length - 1;
    const choice = (name, title) => `<label>${title} <select name="${name}">${choices(named)}</select></label>`;
    const pair = choice('i', 'Query') + choice('j', 'Key'), memory = slider({ name: 'm', title: 'M remembered', most: last, start: 3 });
    const controls = { shift: slider({ name: 'moved', title: 'Moved by', most: last }), memory, whole: pair + memory };
    this.innerHTML = `
      <div class="controls">${controls[this.#shows] ?? pair}</div>
      <div class="sentence"></div>
      <div class="example-products"></div>
      <p class="key"></p>
      <p role="alert" hidden></p>`;
    if (part(this, 'i')) part(this, 'i').value = named[last];
    if (part(this, 'j')) part(this, 'j').value = named[last - 1];
    this.addEventListener('input', ({ target }) => target.name === 'm' ? this.#compute() : this.#draw());
    this.querySelector('.sentence').addEventListener('click', ({ target }) => this.#choose(target.closest('[data-word]')));
    this.#compute();
  }

  get #shows() { return this.getAttribute('shows'); }
  get #words() { return this.#layer.words; }
  #chosen(name) { return parseInt(part(this, name)?.value ?? 0); }

  /// The word at which one presses asks, and a number below it is the key's.
  #choose(pressed) {
    if (!pressed || !part(this, 'j')) return;
    const select = part(this, pressed.localName === 'th' ? 'i' : 'j');
    select.selectedIndex = Number(pressed.dataset.word);
    for (const event of ['input', 'change']) select.dispatchEvent(new Event(event, { bubbles: true }));
  }

  async #compute() {
    const asked = ++this.#asked, M = this.#chosen('m');
    const layer = { content: without_positions, shift: with_bias_in_queries }[this.#shows]?.(this.#layer) ?? this.#layer;
    await attempt(this, async () => {
      const [tables, at_once] = await Promise.all([worked_through(layer, M), worked_through(layer, 0)]);
      if (asked !== this.#asked) return;
      if (this.#shows === 'content') for (const name of tables.keys()) if (has_positions(name)) tables.delete(name);
      this.#tables = tables;
      this.#at_once = at_once;
      this.#draw();
    });
  }

  #draw() {
    if (!this.#tables) return;
    for (const name of ['m', 'moved']) this.querySelector(`output[name=${name}]`)?.replaceChildren(part(this, name).value);
    const draw = { shift: () => this.#draw_shift(), memory: () => this.#draw_memory() };
    (draw[this.#shows] ?? (() => this.#draw_query()))();
  }

  /// The words on top. One is marked as that which asks, and the first M as remembered.
  #head({ asks, M = 0 } = {}) {
    const head = element('thead');
    head.append(line(element('td'), ...this.#words.map((word, n) => element('th', word, {
      scope: 'col', 'data-word': n, class: n === asks ? 'means-query asks' : n < M ? 'means-memory asks' : '',
    }))));
    return head;
  }

  #show(head, lines) {
    const table = element('table'), body = element('tbody');
    body.append(...lines);
    table.append(head, body);
    this.querySelector('.sentence').replaceChildren(table);
  }

  /// One number of a query for each word that it may read.
  #row(name, i) {
    const table = this.#tables.get(name), row = i - this.#chosen('m');
    return line(label(name), ...this.#words.map((_, j) => {
      if (j > i) return element('td', '', { class: 'future', 'data-word': j });
      const value = at(table, row, j), cell = number(name === 'p' ? fixed(value) : short(value), means[name]);
      if (name === 'score' || name === 'p') this.#tint(cell, at(this.#tables.get('p'), row, j));
      cell.dataset.word = j;
      return cell;
    }));
  }

  #tint(cell, weight) {
    cell.classList.add('tinted');
    cell.style.setProperty('--strength', `${Math.round(100 * weight)}%`);
  }

  /// The vectors of the words, a row for each channel. On the left is a vector of the query's: what it asks with, or what
  /// it gets.
  #vectors(name, i, left, count) {
    const [own, table] = [left, name].map((one) => this.#tables.get(one)), row = i - this.#chosen('m');
    return Array.from({ length: count }, (_, d) => line(
      number(left === 'y' ? fixed(at(own, row, d)) : short(at(own, row, d)), means[left], 'own'),
      ...this.#words.map((_, j) => {
        const cell = number(short(at(table, j, d)), means[name], j > i ? 'unread' : '');
        cell.dataset.word = j;
        return cell;
      })));
  }

  #draw_query() {
    const [i, j, M] = ['i', 'j', 'm'].map((name) => this.#chosen(name)), word = this.#words[i];
    if (i < M) {
      this.#show(this.#head({ M }), []);
      this.querySelector('.example-products').replaceChildren();
      this.querySelector('.key').textContent = `“${word}” at ${i} is remembered, and asks nothing.`;
      return;
    }
    const caption = (text, meaning) => line(element('th', text, { class: `said means-${meaning}`, colspan: this.#words.length + 1 }));
    const before = {
      content: () => [caption(`the query of “${word}” on the left, and all keys`, 'key'), ...this.#vectors('k', i, 'q', 4)],
    }[this.#shows] ?? (() => [this.#row('δ', i)]);
    const after = this.#shows === 'terms' ? []
      : [caption(`what “${word}” gets on the left: the mean of these values`, 'value'), ...this.#vectors('v', i, 'y', 2)];
    const terms = ['q·k', 'q·r', 'u·k', 'v·r'].filter((name) => this.#tables.has(name));
    this.#show(this.#head({ asks: i, M }), [...before(), ...[...terms, 'score', 'p'].map((name) => this.#row(name, i)), ...after]);
    for (const cell of this.querySelectorAll(`td[data-word="${j}"]`)) cell.classList.toggle('chosen', j <= i);
    this.#write_out(i, j);
  }

  /// The products of a pair.
  #write_out(i, j) {
    const is_read = j <= i, tables = [...this.#tables.values()], row = i - this.#chosen('m');
    const labels = new Set(['', `i=${row}`, `j=${j}`, `δ=${i - j}`]), value_of = (table) => short(at(table, row, j));
    this.querySelector('.example-products').innerHTML = is_read ? dot_products(tables, labels, value_of) : '';
    this.querySelector('.key').textContent = is_read ? ''
      : `“${this.#words[j]}” at ${j} comes after “${this.#words[i]}” at ${i}, which may not read it.`;
  }

  /// Rows of distances that move to the left: that of query i until its distance 0 stands below its word.
  #draw_shift() {
    const { columns } = this.#tables.get('q·r by distance'), table = this.#tables.get('q·r by distance');
    const T = this.#words.length, moved = this.#chosen('moved');
    const names_of = (all, meaning) => {
      const made = element('div', '', { class: `heads means-${meaning}` });
      made.append(element('span', meaning === 'key' ? 'key' : 'distance'), ...all.map((text) => element('b', text)));
      return made;
    };
    const rows = this.#words.map((word, i) => {
      const by = Math.min(moved, T - 1 - i), row = element('div', '', { class: `moving row-${i}`, style: `--by: ${by}` });
      const cells = element('div');
      cells.append(...columns.map((_, c) => element('b', short(at(table, i, c)), { class: T - 1 - c > i ? 'unused' : '' })));
      const track = element('div', '', { class: 'track' });
      track.append(cells);
      row.append(element('span', word, { class: 'means-query' }), track);
      return row;
    });
    const distances = names_of(columns.map((name) => name.slice(2)), 'distance'), keys = names_of(this.#words, 'key');
    distances.classList.toggle('past', moved > 0);
    keys.classList.toggle('past', moved < T - 1);
    const place = this.querySelector('.sentence');
    if (place.querySelector('.moving')) {  // the rows that are there move
      place.querySelectorAll('.moving').forEach((row, i) => row.style.setProperty('--by', Math.min(moved, T - 1 - i)));
      place.querySelectorAll('.heads').forEach((head, n) => { head.className = [distances, keys][n].className; });
    } else {
      place.replaceChildren(distances, ...rows, keys);
    }
    this.querySelector('.key').textContent = moved === 0
      ? 'By distance: a column has one distance, and all rows begin with the farthest.'
      : moved < T - 1 ? `All rows but the last ${moved === 1 ? 'one' : moved} have further to go.`
      : `By key: a column has one word. The first row has moved by ${moved}, each one below it by 1 less.`;
  }

  #draw_memory() {
    const M = this.#chosen('m'), T = this.#words.length, score = this.#tables.get('score'), p = this.#tables.get('p');
    const lines = this.#words.map((word, i) => {
      if (i < M) {
        const nothing = i === 0 ? [element('td', M > 1 ? 'memory: it asks nothing' : 'asks nothing', { class: 'means-memory remembered', colspan: M, rowspan: M })] : [];
        return line(element('th', '\u00a0'), ...nothing, ...this.#words.slice(M).map(() => element('td', '', { class: 'future' })));
      }
      return line(element('th', word, { scope: 'row', class: 'means-query' }), ...this.#words.map((_, j) => {
        if (j > i) return element('td', '', { class: 'future' });
        const cell = number(short(at(score, i - M, j)), 'query', j === M && M ? 'after-memory' : '');
        this.#tint(cell, at(p, i - M, j));
        return cell;
      }));
    });
    this.#show(this.#head({ M }), lines);
    const at_once = this.#at_once.get('p').values.slice(M * T);
    const most = Math.max(...p.values.map((value, n) => Math.abs(value - at_once[n])));
    this.querySelector('.key').textContent = `${T} keys, ${T - M === 1 ? '1 query' : `${T - M} queries`}. ` + (M === 0 ? 'All words are new.'
      : most === 0 ? 'The weights are those of all six words at once.' : `A weight differs by ${most} from that of all six words at once.`);
  }
}

customElements.define('sentence-score', SentenceScore);
