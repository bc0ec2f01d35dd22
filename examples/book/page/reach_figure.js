// <reach-figure layers="3" t="4" m="4" token="23">: how far back a token sees through the layers of a
// Transformer-XL that reads its text in segments. The library runs the model once for each token, with that
// token changed; the states that depend on it change. On a phone the text goes on in a second line.

import { attempt, in_a_cell, precise, slider } from 'book/elements.js';
import { ask } from 'book/library.js';
import 'book/cell_field.js';
import { filled, identity, largest_change, random_numbers } from 'book/numbers.js';

export const segments = 6;
const least_width = 560;  // of a figure that has all segments side by side; in a narrower one they go on below
const C = 8, V = C;  // channels, and as many letters, so that the logits can be the last state itself
const inputs = [
  { name: 'layers', title: 'Layers', least: 1, most: 4, start: 3 },
  { name: 't', title: 'T, a segment', least: 1, most: 4, start: 4 },
  { name: 'm', title: 'M remembered', least: 0, most: 6, start: 4 },
  { name: 'token', title: 'Token', least: 0, most: 23, start: 23 },
];

class ReachFigure extends HTMLElement {
  #asked = 0;
  #computed = null;  // what the sliders said before the last answer came: {layers, T, moves}
  #size_of_page = new ResizeObserver(() => { if (this.#lines !== this.#drawn_lines) this.#draw(); });
  #drawn_lines = 0;

  connectedCallback() {
    if (this.firstChild) return;
    this.innerHTML = `
      <div class="controls">${inputs.map(slider).join('')}
        <label><input type="checkbox" name="numbers"> Numbers</label>
      </div>
      <cell-field></cell-field>
      <p class="key"></p>
      <p role="alert" hidden></p>`;
    for (const { name } of inputs) this.#input(name).value = this.getAttribute(name) ?? this.#input(name).value;
    for (const { name } of inputs)
      this.#input(name).addEventListener('input', () => name === 'token' ? this.#draw() : this.#compute());
    this.#input('numbers').addEventListener('input', () => this.#draw());
    this.#size_of_page.observe(this);
    this.#compute();
  }

  /// Over how many lines the text goes.
  get #lines() { return this.clientWidth < least_width ? 2 : 1; }

  #input(name) { return this.querySelector(`input[name="${name}"]`); }
  #size(name) { return Number(this.#input(name).value); }

  async #compute() {
    const asked = ++this.#asked;
    const [layers, T, M] = ['layers', 't', 'm'].map((name) => this.#size(name));
    await attempt(this, async () => {
      const moves = await dependence(layers, T, M);
      if (asked !== this.#asked) return;
      this.#computed = { layers, T, moves };
      this.#input('token').max = segments * T - 1;
      this.#draw();
    });
  }

  #draw() {
    if (!this.#computed) return;
    for (const { name } of inputs) this.querySelector(`output[name="${name}"]`).textContent = this.#size(name);
    const { layers, T, moves } = this.#computed, token = this.#size('token');
    const cells = [], tokens = segments * T, own = Math.floor(token / T), numbers = this.#input('numbers').checked;
    const lines = this.#drawn_lines = this.#lines, in_line = tokens / lines, high = layers + 2;  // with a gap
    for (let layer = layers; layer >= 0; --layer)
      for (let column = 0; column < tokens; ++column) {
        const moved = moves[layer][column][token], depends = moved > 0, line = Math.floor(column / in_line);
        cells.push({
          key: `${layer} ${column}`, row: line * high + layers - layer, column: column % in_line,
          rule_before: column % in_line > 0 && column % T === 0,
          text: numbers ? depends ? in_a_cell(moved) : '' : column === token ? '●' : '', kind: depends ? 'plain' : 'covered',
          color: depends ? Math.floor(column / T) === own ? 0 : 1 : undefined,
          say: `${after(layer)}, token ${token} ${depends ? 'depends' : 'does not depend'} on token ${column}` +
            `${column < token ? `, ${token - column} back` : ''}.${numbers && depends ? ` Its state moves by ${precise(moved)}.` : ''}`,
        });
      }
    this.querySelector('cell-field').show({
      label: `${tokens} tokens in segments of ${T}; what token ${token} depends on after each layer`,
      cells,
      row_names: Array.from({ length: lines * high - 1 }, (_, n) => n % high > layers ? '' : `h${layers - n % high}`),
    });
    const back = token - moves[layers].findIndex((changes) => changes[token]);
    this.querySelector('.key').textContent = `${after(layers)}, token ${token} sees ${back} tokens back.` +
      (numbers ? ` Make a token another letter: a number says how far the state of token ${token} moves, in the channel that moves most.` : '');
  }
}

const after = (layer) => layer === 0 ? 'Before the layers' : layer === 1 ? 'After 1 layer' : `After ${layer} layers`;

/// A model with the parameters that run_layer names.
function model(layers) {
  const random = random_numbers(3), parameters = {};
  const put = (name, shape) => { parameters[`param.${name}`] = random(shape); };
  const norm = (name) => ['weight', 'bias'].forEach((part) => put(`${name}.${part}`, [C]));
  put('embedding.weight', [V, C]);
  for (let n = 0; n < layers; ++n) {
    const block = `blocks.${n}`, mixer = `${block}.mixer`;
    put(`${mixer}.qkv.weight`, [3 * C, C]);
    put(`${mixer}.output.weight`, [C, C]);
    put(`${mixer}.position.weight`, [C, C]);
    put(`${mixer}.content_bias`, [1, C]);
    put(`${mixer}.position_bias`, [1, C]);
    norm(`${block}.mixer_norm`);
    put(`${block}.feed_forward.up.weight`, [C, C]);
    put(`${block}.feed_forward.up.bias`, [C]);
    put(`${block}.feed_forward.down.weight`, [C, C]);
    put(`${block}.feed_forward.down.bias`, [C]);
    norm(`${block}.feed_forward_norm`);
  }
  parameters['param.output.weight'] = identity(V);
  parameters['param.output.bias'] = filled([V], 0);
  const config = {
    vocab_size: V, d_model: C, n_layer: layers, n_head: 1, d_inner: C, final_norm: false, mixer: { type: 'transformer_xl_attention' },
  };
  return { config, parameters };
}

/// Returns moves[layer][a][t]: how far the state of token t after that many layers moves when token a becomes another
/// letter, 0 if not one bit of it changes.
export async function dependence(layers, T, M) {
  const { config, parameters } = model(layers), tokens = segments * T, B = tokens + 1;
  const text = random_numbers(4)([tokens]).values.map((value) => value > 0 ? 1 : 0);
  const texts = [text, ...text.map((_, a) => text.map((letter, t) => t === a ? letter + 2 : letter))];
  const changes = Array.from({ length: layers + 1 }, () => Array.from({ length: tokens }, () => Array(tokens)));
  let memory = Array.from({ length: layers }, () => filled([B, 0, C], 0));
  for (let segment = 0; segment < segments; ++segment) {
    const part = { shape: [B, T], dtype: 'I64', values: texts.flatMap((all) => all.slice(segment * T, (segment + 1) * T)) };
    const { tensors } = await ask({
      do: 'run_layer', layer: 'language_model', config,
      tensors: {
        ...parameters, 'input.tokens': part, 'input.targets': part,
        ...Object.fromEntries(memory.map((block, n) => [`input.memory.${n}`, block])),
      },
    });
    const states = [...memory.map((_, n) => tensors[`memory.${n}`]), tensors.output];
    states.forEach((state, layer) => note_changes(state, segment * T, changes[layer]));
    memory = memory.map((block, n) => last_rows(block, states[n], M));
  }
  return changes;
}

/// Compares the states [B, T, …] of a segment with those of the first member of the batch.
function note_changes({ shape: [B, T, width], values }, begin, changes) {
  for (let a = 0; a + 1 < B; ++a)
    for (let t = 0; t < T; ++t) {
      const row = (b) => values.slice((b * T + t) * width, (b * T + t + 1) * width);
      const unchanged = row(0);
      changes[a][begin + t] = largest_change(row(a + 1), unchanged);
    }
}

/// What a block remembers: the last M of its old memory and of its new inputs, [B, M, C].
function last_rows(old, inputs, M) {
  const [B, T] = inputs.shape, before = old.shape[1], kept = Math.min(M, before + T);
  const rows = (tensor, b) => tensor.values.slice(b * tensor.shape[1] * C, (b + 1) * tensor.shape[1] * C);
  const values = Array.from({ length: B }, (_, b) => [...rows(old, b), ...rows(inputs, b)].slice((before + T - kept) * C));
  return { shape: [B, kept, C], values: values.flat() };
}

customElements.define('reach-figure', ReachFigure);
