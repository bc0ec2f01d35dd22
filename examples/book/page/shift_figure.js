// <shift-figure t="3" m="2" way="rel_shift">: the relative shift, step by step. The library applies
// the operations to numbered scores; the figure draws where it says that each of them lies.

import { attempt, attribute } from 'book/elements.js';
import { ask } from 'book/library.js';
import 'book/cell_field.js';
import { ways } from 'book/shift_ways.js';
import { below } from 'book/subscripts.js';

const most_queries = 5, most_memory = 4;
const pause_between_steps = 1400;  // milliseconds

class ShiftFigure extends HTMLElement {
  #views = [];
  #at_once = null;
  #hidden = null;  // whether the mask hides a cell of the result, row by row
  #step = 0;
  #player = null;
  #asked = 0;

  connectedCallback() {
    if (this.firstChild) return;
    const options = Object.entries(ways).map(([name, { title }]) => `<option value="${name}">${title}</option>`);
    this.innerHTML = `
      <div class="controls">
        <label>Way <select name="way">${options.join('')}</select></label>
        <label>T queries <input type="range" name="t" min="1" max="${most_queries}"><output name="t"></output></label>
        <label>M remembered <input type="range" name="m" min="0" max="${most_memory}"><output name="m"></output></label>
        <label>K keys <input type="range" name="k" min="1" max="${most_queries + most_memory}"><output name="k"></output></label>
      </div>
      <div class="controls">
        <button type="button" name="back">Back</button><button type="button" name="next">Next</button>
        <button type="button" name="play">Play the steps</button><button type="button" name="motion">In one motion</button>
        <label>Step <input type="range" name="step" min="0" max="0"></label>
        <label><input type="checkbox" name="mask"> Mask</label>
        <label><input type="checkbox" name="numbers"> Numbers 1, 2, 3 …</label>
      </div>
      <p class="step" aria-live="polite"></p>
      <cell-field></cell-field>
      <div class="wide" tabindex="0" role="group" aria-label="Shapes and strides"><table class="views"></table></div>
      <p role="alert" hidden></p>`;
    this.#input('way').value = attribute(this, 'way', Object.keys(ways));
    this.#input('t').value = this.getAttribute('t') ?? 3;
    this.#input('m').value = this.getAttribute('m') ?? 2;
    this.#input('k').value = this.#T + this.#M;
    for (const name of ['way', 't', 'm']) this.#input(name).addEventListener('input', () => this.#resize());
    this.#input('k').addEventListener('input', () => this.#choose_keys());
    for (const name of ['mask', 'numbers']) this.#input(name).addEventListener('change', () => this.#draw());
    this.#input('step').addEventListener('input', () => this.#go(Number(this.#input('step').value)));
    const on_click = (name, action) => this.#input(name).addEventListener('click', action);
    on_click('back', () => this.#go(this.#step - 1));
    on_click('next', () => this.#go(this.#step + 1));
    on_click('play', () => this.#play());
    on_click('motion', () => this.#move_at_once());
    this.#compute();
  }

  disconnectedCallback() { this.#stop(); }

  #input(name) { return this.querySelector(`[name="${name}"]:not(output)`); }
  get #T() { return Number(this.#input('t').value); }
  get #M() { return Number(this.#input('m').value); }
  get #K() { return this.#T + this.#M; }
  get #way() { return ways[this.#input('way').value]; }
  get #last() { return this.#views.length - 1; }

  #resize() {
    this.#input('k').value = this.#K;
    this.#compute();
  }

  /// K = M + T: with another K the memory changes, and where it cannot, the queries do.
  #choose_keys() {
    const K = Number(this.#input('k').value);
    this.#input('t').value = Math.min(Math.max(this.#T, K - most_memory), K);
    this.#input('m').value = K - this.#T;
    this.#compute();
  }

  /// Asks the library for the views of T rows of numbers 1, 2, 3, …
  async #compute() {
    this.#stop();
    const T = this.#T, K = this.#K, way = this.#way, asked = ++this.#asked;
    for (const [name, value] of Object.entries({ t: T, m: this.#M, k: K }))
      this.querySelector(`output[name="${name}"]`).textContent = value;
    const columns = way.columns(T, K);
    const tensor = { shape: [T, columns], values: Array.from({ length: T * columns }, (_, n) => n + 1) };
    await attempt(this, async () => {
      const [steps, at_once, hidden] = await Promise.all([
        ask({ do: 'views', tensor, steps: way.steps(T, K).map(([step]) => step) }),
        ask({ do: 'views', tensor, steps: way.at_once(T, K) }),
        hidden_by_mask(T, K),
      ]);
      if (asked !== this.#asked) return;
      this.#views = steps.views;
      this.#at_once = at_once.views.at(-1);
      this.#hidden = hidden;
      this.#input('step').max = this.#last;
      this.#go(Math.min(this.#step, this.#last));
    });
  }

  #go(step) {
    this.#stop();
    this.#show(step);
  }

  #show(step) {
    this.#step = Math.min(Math.max(step, 0), this.#last);
    this.#input('step').value = this.#step;
    this.#input('back').disabled = this.#step === 0;
    this.#input('next').disabled = this.#step === this.#last;
    this.#input('mask').disabled = this.#step < this.#last;  // only scores by key can be masked
    this.#draw();
  }

  #play() {
    this.#go(0);
    this.#player = setInterval(() => {
      this.#show(this.#step + 1);
      if (this.#step === this.#last) this.#stop();
    }, pause_between_steps);
  }

  #stop() { clearInterval(this.#player); }

  /// From the padded matrix straight to the result.
  #move_at_once() {
    this.#go(1);
    this.#player = setTimeout(() => this.#show(this.#last), pause_between_steps / 2);
  }

  #draw() {
    const T = this.#T, K = this.#K, view = this.#views[this.#step];
    if (!view) return;
    const words = this.#step === 0
      ? 'Each query is multiplied with each distance. Row i has the products of query i; a column has one distance.'
      : this.#way.steps(T, K)[this.#step - 1][1];
    this.querySelector('.step').textContent = `Step ${this.#step} of ${this.#last}. ${words}`;
    this.querySelector('cell-field').show(this.#picture(view));
    this.#list();
  }

  #picture(view) {
    const line = view.shape.length === 1, by_key = this.#step === this.#last;
    const columns = line ? this.#views[1].values.length : view.shape[1];
    const cells = view.values.map((value, n) => {
      const row = line ? 0 : Math.floor(n / columns), column = line ? view.positions[n] : n % columns;
      return this.#cell(view, n, row, column);
    });
    const queries = !line && (by_key || view.shape[0] === this.#T);
    return {
      label: `Step ${this.#step}, shape ${view.shape.join(' by ')}`,
      cells,
      columns,
      rows: Math.max(...this.#views.map(({ shape }) => shape.length === 2 ? shape[0] : 1)),
      row_names: queries ? Array.from({ length: this.#T }, (_, i) => `q${below(i)}`) : undefined,
      column_names: by_key ? Array.from({ length: this.#K }, (_, j) => `k${below(j)}`) : undefined,
    };
  }

  /// The query and the distance whose product a number stands for. A zero of the padding has neither.
  #product(value) {
    const columns = this.#views[0].shape[1], column = (value - 1) % columns;
    return value === 0 ? null
      : { query: Math.floor((value - 1) / columns), delta: this.#way.delta(column, this.#T, this.#K) };
  }

  #cell(view, n, row, column) {
    const value = view.values[n], product = this.#product(value), by_key = this.#step === this.#last;
    const in_rows_of_queries = view.shape.length === 2 && view.shape[0] === this.#T && this.#step > 1;
    const wrapped = in_rows_of_queries && product?.query !== row;
    const covered = by_key && this.#input('mask').checked && this.#hidden[row][column];
    const index = view.shape.length === 1 ? [n] : [row, column];
    const sum = [view.offset, ...index.map((at, axis) => `${at}·${view.strides[axis]}`)].join(' + ');
    const remark = covered ? ' The mask hides it.' : wrapped ? ' It is wrapped: it comes from another row.' : '';
    const padded = this.#views[1];
    return {
      key: product ? padded.positions[padded.values.indexOf(value)] : view.positions[n],
      row, column,
      text: !product ? '0' : this.#input('numbers').checked ? String(value) : `q${below(product.query)}r${below(product.delta)}`,
      color: product?.query,
      kind: [!product && 'padding', wrapped && 'wrapped', covered && 'covered'].filter(Boolean).join(' '),
      say: `${product ? `q${below(product.query)}·r${below(product.delta)}` : 'A zero of the padding'} is at ` +
        `${index.join(', ')}, which is address ${sum} = ${view.positions[n]} of buffer ${storage_name(view)}.${remark}`,
    };
  }

  #list() {
    const T = this.#T, K = this.#K;
    const names = ['the scores', ...this.#way.steps(T, K).map(([step]) => written(step))];
    const row = (name, view, current) => `<tr${current ? ' aria-current="step"' : ''}><td><code>${name}</code></td>
      <td>[${view.shape.join(', ')}]</td><td>[${view.strides.join(', ')}]</td><td>${view.offset}</td><td>${storage_name(view)}</td></tr>`;
    this.querySelector('.views').innerHTML = `
      <thead><tr><th>step</th><th>shape</th><th>strides</th><th>offset</th><th>buffer</th></tr></thead>
      <tbody>${this.#views.map((view, n) => row(names[n], view, n === this.#step)).join('')}
      ${row(`at once: ${this.#way.at_once(T, K).slice(1).map(written).join(', ')}`, this.#at_once, false)}</tbody>`;
  }
}

const storage_name = ({ storage }) => 'AB'[storage];

/// A step as one reads it: slice(0, 3, 18).
function written([name, ...values]) {
  const shown = values.map((value) => Array.isArray(value) ? `[${value.join(', ')}]` : value);
  return values.length ? `${name}(${shown.join(', ')})` : name;
}

/// Whether the causal mask hides each cell: what rel_shift with zero_triu makes 0 of a matrix of ones.
async function hidden_by_mask(T, K) {
  const ones = { shape: [T, K], values: Array(T * K).fill(1) };
  const { tensors } = await ask({
    do: 'run_layer', layer: 'rel_shift', config: { zero_triu: true }, tensors: { 'input.x': ones, grad_output: ones },
  });
  return Array.from({ length: T }, (_, i) => tensors.output.values.slice(i * K, (i + 1) * K).map((value) => value === 0));
}

customElements.define('shift-figure', ShiftFigure);
