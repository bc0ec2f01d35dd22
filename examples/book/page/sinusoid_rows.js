// <sinusoid-rows channels="16" pair="2">: the sinusoids of all positions, which are what a language model of the
// library feeds its layers where embeddings are 0, and the two waves of one pair of channels.

import 'book/drawn_figure.js';
import { attempt, choices, choose, part } from 'book/elements.js';
import { ask } from 'book/library.js';
import { filled, identity } from 'book/numbers.js';

const places = 64;
const widths = ['8', '16', '32'];

/// The sinusoids [places, C]. All parameters are 0 but for the identity that makes the logits.
async function sinusoids(C) {
  const zeros = {
    'embedding.weight': [C, C], 'output.bias': [C],
    'blocks.0.mixer.qkv.weight': [3 * C, C], 'blocks.0.mixer.qkv.bias': [3 * C],
    'blocks.0.mixer.output.weight': [C, C], 'blocks.0.mixer.output.bias': [C], 'blocks.0.mixer_norm.weight': [C],
    'blocks.0.mixer_norm.bias': [C], 'blocks.0.feed_forward.up.weight': [1, C], 'blocks.0.feed_forward.up.bias': [1],
    'blocks.0.feed_forward.down.weight': [C, 1], 'blocks.0.feed_forward.down.bias': [C],
    'blocks.0.feed_forward_norm.weight': [C], 'blocks.0.feed_forward_norm.bias': [C],
  };
  const parameters = Object.entries(zeros).map(([name, shape]) => [`param.${name}`, filled(shape, 0)]);
  const tokens = { ...filled([1, places], 0), dtype: 'I64' };
  const { tensors: { output } } = await ask({
    do: 'run_layer', layer: 'language_model',
    config: {
      vocab_size: C, d_model: C, n_layer: 1, n_head: 1, d_inner: 1, final_norm: false, position: 'sinusoid',
      mixer: { type: 'multi_head_attention' },
    },
    tensors: {
      ...Object.fromEntries(parameters), 'param.output.weight': identity(C),
      'input.tokens': tokens, 'input.targets': tokens,
    },
  });
  return Array.from({ length: places }, (_, place) => output.values.slice(place * C, (place + 1) * C));
}

customElements.define('sinusoid-rows', class extends HTMLElement {
  #rows = [];
  #asked = 0;

  connectedCallback() {
    if (this.firstChild) return;
    this.innerHTML = `
      <div class="controls">
        <label>Channels C <select name="channels">${choices(widths)}</select></label>
        <label>Pair n <input type="range" name="pair" min="0" max="0"><output name="pair"></output></label>
      </div>
      <p role="alert" hidden></p>
      <drawn-figure class="all"></drawn-figure>
      <drawn-figure class="waves"></drawn-figure>`;
    choose(this, 'channels', this.getAttribute('channels') ?? widths[1]);
    part(this, 'channels').addEventListener('change', () => this.#compute());
    this.#pair.addEventListener('input', () => this.#draw_waves());
    this.#compute(this.getAttribute('pair'));
  }

  get #pair() { return this.querySelector('input[name=pair]'); }

  #compute(pair) {
    const C = Number(part(this, 'channels').value), asked = ++this.#asked;
    return attempt(this, async () => {
      const rows = await sinusoids(C);
      if (asked !== this.#asked) return;
      this.#rows = rows;
      this.#pair.max = C / 2 - 1;
      this.#pair.value = pair ?? this.#pair.value;
      const map = this.querySelector('.all'), half = C / 2;
      const wave = (c) => `${c < half ? 'sin' : 'cos'} of pair ${c % half}`;
      map.describe = (c, place, value) => `${wave(c)} at position ${place}: ${value.toFixed(3)}`;
      await Promise.all([
        map.show({ map: {
          title: 'All channels at all positions', limit: 1, signed: true,
          row_title: 'channel', column_title: 'position',
          row_names: Array.from({ length: C }, (_, c) => String(c)), column_names: rows.map((_, place) => place % 8 ? '' : String(place)),
          values: Array.from({ length: C }, (_, c) => rows.map((row) => row[c])),
        } }),
        this.#draw_waves(),
      ]);
    });
  }

  #draw_waves() {
    const n = Number(this.#pair.value), half = this.#rows[0].length / 2, xs = this.#rows.map((_, place) => place);
    this.querySelector('output[name=pair]').textContent = n;
    return this.querySelector('.waves').show({ chart: {
      title: `Pair ${n}`, x_title: 'position', y_title: '',
      curves: [['sin', n], ['cos', half + n]].map(([name, c]) => ({ name, xs, ys: this.#rows.map((row) => row[c]) })),
    } });
  }
});
