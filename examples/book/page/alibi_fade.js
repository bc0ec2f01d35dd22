// <alibi-fade heads="8" distance="8">: what ALiBi takes from the scores of far keys, and what becomes of the weights
// where all keys fit equally well. The model of the library leaves its other term, q·k, out.

import 'book/drawn_figure.js';
import { attempt, fixed, slider } from 'book/elements.js';
import { Library } from 'book/library.js';

const longest = 64, most_heads = 8;

customElements.define('alibi-fade', class extends HTMLElement {
  #library = new Library();
  #heads = [];  // of each its penalties and its weights, by distance
  #asked = 0;

  connectedCallback() {
    if (this.firstChild) return;
    this.innerHTML = `
      <div class="controls">
        ${slider({ name: 'heads', title: 'Heads H', least: 1, most: most_heads, start: this.getAttribute('heads') })}
        ${slider({ name: 'distance', title: 'Distance δ', most: longest, start: this.getAttribute('distance') })}
      </div>
      <p role="alert" hidden></p>
      <drawn-figure></drawn-figure>
      <div class="wide" tabindex="0" role="group" aria-label="What each head takes"><table></table></div>`;
    this.#input('heads').addEventListener('input', () => this.#compute());
    this.#input('distance').addEventListener('input', () => this.#read());
    this.#compute();
  }

  disconnectedCallback() { this.#library.close().catch(() => {}); }

  #input(name) { return this.querySelector(`input[name=${name}]`); }

  #compute() {
    const H = Number(this.#input('heads').value), asked = ++this.#asked;
    this.querySelector('output[name=heads]').textContent = H;
    const text = 'a'.repeat(longest + 1);
    const mixer = { type: 'multi_head_attention', position: 'alibi' };
    const model = { d_model: 2 * H, n_layer: 1, n_head: H, d_inner: 1, mixer };
    const training = { batch_size: 1, block_size: longest };
    return attempt(this, async () => {
      await this.#library.ask({ do: 'begin', text: `${text}a`, model, training });
      const request = { do: 'terms', text, without: ['content_content'] };
      const { layers: [{ terms, weights }] } = await this.#library.ask(request);
      if (asked !== this.#asked) return;
      const { heads } = terms.find(({ name }) => name === 'position_scores');
      // The row of the last query, whose first key is the farthest.
      const by_distance = (matrix) => matrix.slice(-longest - 1).reverse();
      this.#heads = heads.map((scores, h) => ({ scores: by_distance(scores), weights: by_distance(weights[h]) }));
      this.#read();
      await this.querySelector('drawn-figure').show({ chart: {
        title: 'The weight of a key, where all keys fit equally well', x_title: 'distance', y_title: 'weight',
        curves: this.#heads.map(({ weights: ys }, h) => ({ name: `head ${h}`, xs: ys.map((_, delta) => delta), ys })),
      } });
    });
  }

  #read() {
    const delta = Number(this.#input('distance').value);
    this.querySelector('output[name=distance]').textContent = delta;
    const row = (cells, tag) => `<tr>${cells.map((cell) => `<${tag}>${cell}</${tag}>`).join('')}</tr>`;
    const head = ['head', 'for each token', `at distance ${delta}`, 'weight there'];
    this.querySelector('table').innerHTML = row(head, 'th') +
      this.#heads.map(({ scores, weights }, h) =>
        row([h, fixed(scores[1], 4), fixed(scores[delta], 3), fixed(weights[delta], 4)], 'td')).join('');
  }
});
