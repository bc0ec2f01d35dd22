// <terms-figure text="the cat sat on the mat" m="0">: what each of the four terms of Transformer-XL's score
// makes a token attend to. The weights are chosen, not learned, so that each term does one thing:
//
//     (a) q_i·k_j  equal letters        (b) q_i·r_δ  the letter before, for vowels; the third before, for others
//     (c) u·k_j    spaces               (d) v·r_δ    near letters
//
// The layer's value of token j is the unit vector j, so its output is the matrix of attention.

import { attempt } from 'book/elements.js';
import { ask } from 'book/library.js';
import 'book/drawn_figure.js';
import { filled } from 'book/numbers.js';

const terms = {
  a: '(a) content and content',
  b: '(b) content and distance',
  c: '(c) a key, for every query alike',
  d: '(d) a distance, for every query alike',
};
const meanings = { a: 'content-content', b: 'content-position', c: 'content-bias', d: 'position-bias' };
const longest = 24, strength = 4;
const frequencies = 6;  // of the sinusoids, the fastest first

class TermsFigure extends HTMLElement {
  #asked = 0;

  connectedCallback() {
    if (this.firstChild) return;
    const on = this.getAttribute('terms') ?? 'abcd';
    this.innerHTML = `
      <div class="controls">
        ${Object.entries(terms).map(([name, title]) => `<label><input type="checkbox" name="${name}"
          ${on.includes(name) ? 'checked' : ''}> <span class="term-name means-${meanings[name]}">${title}</span></label>`).join('')}
        <label>Text <input type="text" name="text" maxlength="${longest}" size="${longest}"></label>
        <label>M remembered <input type="range" name="m" min="0" max="${longest - 1}"><output name="m"></output></label>
      </div>
      <drawn-figure></drawn-figure>
      <p role="alert" hidden></p>`;
    this.#input('text').value = (this.getAttribute('text') ?? 'the cat sat on the mat').slice(0, longest);
    this.#input('m').value = this.getAttribute('m') ?? 0;
    this.addEventListener('input', () => this.#compute());
    this.#compute();
  }

  #input(name) { return this.querySelector(`input[name="${name}"]`); }

  async #compute() {
    const letters = [...this.#input('text').value], asked = ++this.#asked;
    this.#input('m').max = Math.max(letters.length - 1, 0);
    const M = Number(this.#input('m').value), T = letters.length - M;
    this.querySelector('output[name=m]').textContent = M;
    const map = this.querySelector('drawn-figure');
    map.hidden = letters.length === 0;
    const on = Object.fromEntries(Object.keys(terms).map((name) => [name, this.#input(name).checked]));
    await attempt(this, async () => {
      if (letters.length === 0) throw new Error('Type one letter or more.');
      const values = await attention(letters, M, on);
      if (asked !== this.#asked) return;
      map.describe = (i, j, p) => `“${letters[M + i]}” at ${M + i} attends to “${letters[j]}” at ${j}, ` +
        `distance ${M + i - j}: ${p === null ? 'hidden' : p.toFixed(3)}`;
      await map.show({ map: {
        title: 'Attention', values, limit: 1, row_title: 'query', column_title: 'key',
        row_names: letters.slice(M), column_names: letters, memory: M,
      } });
    });
  }
}

/// Runs the layer, and returns its attention of each new letter to all letters; null where one is hidden.
async function attention(letters, M, on) {
  const alphabet = [...new Set(letters)], n = alphabet.length, K = letters.length, T = K - M;
  const C = 2 * Math.ceil(Math.max(n + K, n + 3) / 2);  // even, for the sinusoids
  const x = letters.map((letter, j) => Array.from({ length: C }, (_, c) => Number(c === alphabet.indexOf(letter) || c === n + j)));
  const rows = (part) => ({ shape: [1, part.length, C], values: part.flat() });
  const output = square(C, (row, column) => Number(row === column));
  const tensors = {
    ...weights(alphabet, C, K, on), 'param.output.weight': output,
    'input.x': rows(x.slice(M)), 'grad_output': filled([1, T, C], 0),
    ...(M > 0 && { 'input.memory': rows(x.slice(0, M)) }),
  };
  const config = { d_model: C, n_head: 1 };
  const { tensors: { output: y } } = await ask({ do: 'run_layer', layer: 'transformer_xl_attention', config, tensors });
  return Array.from({ length: T }, (_, i) =>
    y.values.slice(i * C + n, i * C + n + K).map((p, j) => j > M + i ? null : p));
}

/// The channels of q and k: one for each letter, then three for distances.
function weights(alphabet, C, K, on) {
  const n = alphabet.length, scale = strength * Math.sqrt(C);
  const [before, third, near] = [n, n + 1, n + 2];
  const letter = (row, column) => Number(row === column && row < n);
  const query = square(C, (row, column) => {
    if (column >= n) return 0;
    const wanted = 'aeiou'.includes(alphabet[column]) ? before : third;
    return scale * (Number(on.a) * letter(row, column) + Number(on.b && row === wanted));
  });
  const key = square(C, letter);
  const value = square(C, (row, column) => Number(row === column && row >= n && row < n + K));
  const wants = (channel, is_on) => ({
    shape: [1, C], values: Array.from({ length: C }, (_, c) => is_on && c === channel ? scale : 0),
  });
  return {
    'param.qkv.weight': { shape: [3 * C, C], values: [query, key, value].flatMap(({ values }) => values) },
    'param.position.weight': square(C, (row, column) =>
      row === before ? 2 * toward(1, column, C)
      : row === third ? 2 * toward(3, column, C)
      : row === near ? toward(0, column, C) / 2 : 0),
    'param.content_bias': wants(alphabet.indexOf(' '), on.c),
    'param.position_bias': wants(near, on.d),
  };
}

const square = (C, entry) => ({
  shape: [C, C], values: Array.from({ length: C * C }, (_, n) => entry(Math.floor(n / C), n % C)),
});

/// Weights of the sinusoids [sin … | cos …] whose sum, the mean of cos((δ - distance) f), is largest there.
function toward(distance, column, C) {
  const half = C / 2, n = column % half, angle = distance * 10000 ** (-2 * n / C);
  if (n >= Math.min(frequencies, half)) return 0;
  return (column < half ? Math.sin(angle) : Math.cos(angle)) / Math.min(frequencies, half);
}

customElements.define('terms-figure', TermsFigure);
