// <rnn-windows>: the windows of LocalRNN over a sentence, one in each row, and in the columns the steps that all of them
// take together: what each reads, and its hidden state afterwards. The states of a window are worked out below. Two words
// can be swapped, and the states that change by a bit or more are marked.

import { attempt, choices, element, fixed, in_brackets, part, slider } from 'book/elements.js';
import { ask } from 'book/library.js';
import { filled } from 'book/numbers.js';

const words = ['the', 'cat', 'sat', 'on', 'the', 'mat'], most_window = 5;
const vector_of = { the: [1, 0], cat: [0, 1], sat: [1, -1], on: [-1, 0], mat: [-1, 1] };
const C = 2;
const parameters = {
  'param.weight_ih': { shape: [C, C], values: [0.8, -0.4, 0.3, 0.7] }, 'param.bias_ih': { shape: [C], values: [0.2, -0.1] },
  'param.weight_hh': { shape: [C, C], values: [0.6, -0.5, 0.5, 0.6] }, 'param.bias_hh': { shape: [C], values: [0, 0] },
};
const nothing = 'nothing', pairs = words.slice(1).map((word, n) => `${words[n]} ${word}`);

/// The places of the words in the text, where the pair of this name is swapped.
function places_with(swapped) {
  const places = words.map((_, n) => n), first = pairs.indexOf(swapped);
  if (first >= 0) [places[first], places[first + 1]] = [first + 1, first];
  return places;
}

/// Returns states[b][n][t]: the hidden state of window t after n of its steps, for each text b. After n steps it has read
/// what a window of n reads that ends where it is, and zero vectors stand before the start: the library runs these windows.
async function states_of(texts, window) {
  const before = Array((window - 1) * C).fill(0), T = words.length;
  const x = { shape: [texts.length, window - 1 + T, C],
              values: texts.flatMap((places) => [...before, ...places.flatMap((place) => vector_of[words[place]])]) };
  const outputs = await Promise.all(Array.from({ length: window }, async (_, n) => (await ask({
    do: 'run_layer', layer: 'local_rnn', config: { d_model: C, window: n + 1, cell: 'rnn' },
    tensors: { ...parameters, 'input.x': x, grad_output: filled(x.shape, 0) },
  })).tensors.output.values));
  const at = (output, b, place) => output.slice((b * x.shape[1] + place) * C).slice(0, C);
  return texts.map((_, b) => [
    Array(T).fill(Array(C).fill(0)),
    ...outputs.map((output, n) => Array.from({ length: T }, (_, t) => at(output, b, t + n))),
  ]);
}

const quoted = (word) => `“${word}”`;
const count = (n, name) => `${n} ${name}${n === 1 ? '' : 's'}`;

customElements.define('rnn-windows', class extends HTMLElement {
  #asked = 0;
  #computed = null;  // {window, swapped, places, states, as_written}: what the library answered last

  connectedCallback() {
    if (this.firstChild) return;
    this.innerHTML = `
      <div class="controls">
        ${slider({ name: 's', title: 'Window s', least: 1, most: most_window, start: 3 })}
        ${slider({ name: 'n', title: 'Steps taken', most: 3, start: 2 })}
        ${slider({ name: 't', title: 'Work out token', most: words.length - 1, start: 3 })}
        <label>Swap <select name="swapped">${choices([nothing, ...pairs])}</select></label>
      </div>
      <div class="sentence"></div>
      <div class="example-products"></div>
      <p class="key"></p>
      <p role="alert" hidden></p>`;
    this.addEventListener('input', ({ target }) => ['s', 'swapped'].includes(target.name) ? this.#compute() : this.#draw());
    this.querySelector('.sentence').addEventListener('click', ({ target }) => this.#choose(target.closest('td')));
    this.#compute();
  }

  #number(name) { return Number(part(this, name).value); }

  /// The cell at which one presses is worked out.
  #choose(cell) {
    if (!cell) return;
    const { row, column } = cell.dataset;
    for (const [name, value] of [['t', row], ['n', column]]) part(this, name).value = value;
    for (const event of ['input', 'change']) part(this, 'n').dispatchEvent(new Event(event, { bubbles: true }));
  }

  /// A window that has taken all of its steps takes all of another length, too.
  #take_steps(window) {
    const steps = part(this, 'n'), had_all = steps.value === steps.max;
    steps.max = window;
    if (had_all) steps.value = window;
  }

  async #compute() {
    const asked = ++this.#asked, window = this.#number('s'), swapped = part(this, 'swapped').value;
    this.#take_steps(window);
    const places = places_with(swapped);
    await attempt(this, async () => {
      const [states, as_written] = await states_of([places, places_with(nothing)], window);
      if (asked !== this.#asked) return;
      this.#computed = { window, swapped, places, states, as_written };
      this.#draw();
    });
  }

  #draw() {
    for (const name of ['s', 'n', 't']) this.querySelector(`output[name=${name}]`).replaceChildren(part(this, name).value);
    if (!this.#computed) return;
    const { window, places } = this.#computed, steps = Array.from({ length: window }, (_, n) => n + 1);
    const table = element('table'), head = element('thead'), names = element('tr'), body = element('tbody');
    names.append(element('td'), ...steps.map((n) => element('th', `step ${n}`, { scope: 'col' })));
    head.append(names);
    body.append(...places.map((place, t) => {
      const line = element('tr');
      line.append(element('th', words[place], { scope: 'row' }), ...steps.map((n) => this.#cell(t, n)));
      return line;
    }));
    table.append(head, body);
    this.querySelector('.sentence').replaceChildren(table);
    this.#work_out();
    this.#say();
  }

  /// The place of the token that window t reads in step n. Before the start it is below 0.
  #read_by(t, n) { return t - this.#computed.window + n; }
  #word_at(place) { return place < 0 ? '0' : words[this.#computed.places[place]]; }

  #changes(t, n) {
    const { states, as_written } = this.#computed;
    return states[n][t].some((value, c) => value !== as_written[n][t][c]);
  }

  #cell(t, n) {
    const read = this.#read_by(t, n), taken = n <= this.#number('n'), { swapped, places } = this.#computed;
    const cell = element('td', this.#word_at(read), { 'data-row': t, 'data-column': n });
    cell.classList.add(taken ? 'taken' : 'future', read < 0 ? 'nothing-there' : `row-${places[read]}`);
    if (!taken) return cell;
    cell.append(...this.#computed.states[n][t].map((value) => element('small', fixed(value))));
    if (swapped !== nothing) cell.classList.add(this.#changes(t, n) ? 'changes' : 'stays');
    if (t === this.#number('t') && n === this.#number('n')) cell.classList.add('chosen');
    return cell;
  }

  /// The last step that the chosen window has taken, in numbers.
  #work_out() {
    const [n, t] = ['n', 't'].map((name) => this.#number(name)), { states } = this.#computed, read = this.#read_by(t, n);
    const own = quoted(this.#word_at(t)), line = element('p');
    const vector = read < 0 ? 'zeros' : `${quoted(this.#word_at(read))} ${in_brackets(vector_of[this.#word_at(read)], 0)}`;
    line.innerHTML = n === 0 ? `The window of ${own} has <b>h</b> = ${in_brackets(states[0][t], 0)} before its first step.`
      : `The window of ${own} in step ${n}: <b>h</b> = cell(${vector}, <b>h</b> before ${in_brackets(states[n - 1][t])}) = ${in_brackets(states[n][t])}`;
    this.querySelector('.example-products').replaceChildren(line);
  }

  #say() {
    const n = this.#number('n'), { window, swapped } = this.#computed, back = window - n;
    const step = n === 0 ? `No window has read anything. In step 1, each reads the token ${count(window - 1, 'place')} before its own.`
      : `In step ${n}, all ${words.length} windows read at once, each ${back ? `the token ${count(back, 'place')} before its own` : 'its own token'}.` +
        (back ? '' : ' Their states are now the output y.');
    this.querySelector('.key').textContent = step + (swapped === nothing || n === 0 ? '' : ` ${this.#said_of_swap(n)}`);
  }

  #said_of_swap(n) {
    const { window, swapped } = this.#computed, first = pairs.indexOf(swapped), [one, other] = swapped.split(' ').map(quoted);
    const changed = words.map((_, t) => t).filter((t) => this.#changes(t, n));
    const have_read = (t, place) => this.#read_by(t, 1) <= place && place <= this.#read_by(t, n);
    const both = changed.filter((t) => have_read(t, first) && have_read(t, first + 1)).length;
    return `With ${one} and ${other} swapped, ${changed.length} of ${words.length} ${n < window ? 'states' : 'outputs'} change (≠). ` +
      (both ? `${both === 1 ? 'One of these windows has' : `${both} of these windows have`} read both words, so ${both === 1 ? 'it notices' : 'they notice'} the order alone.`
        : 'No window has read both words.');
  }
});
