// <beam-search source="badc" width="2" steps="50">: a beam search step by step, in a small model that this page trains
// to write words backwards. Each step compares the targets that have ended with the likeliest continuations of the
// others, and keeps the best.

import { attempt, choices, choose, element, fixed, part } from 'book/elements.js';
import { Library } from 'book/library.js';

const letters = [...'abcd'];
const orders = (rest) => rest.length === 0 ? [''] : rest.flatMap((letter) =>
  orders(rest.filter((other) => other !== letter)).map((order) => letter + order));
const words = orders(letters);
const trainings = ['20', '50', '100'];  // steps
const training = {
  do: 'train_pairs', pairs: words.map((word) => [word, [...word].reverse().join('')]),
  model: {
    d_model: 32, n_encoder_layer: 1, n_decoder_layer: 1, n_head: 2, d_inner: 64,
    encoder_mixer: { type: 'transformer_xl_attention' }, decoder_mixer: { type: 'transformer_xl_attention' },
  },
  training: { batch_size: 24, learning_rate: 4e-3, warmup_iters: 10, label_smoothing: 0.1, seed: 1 },
};

customElements.define('beam-search', class extends HTMLElement {
  #library = new Library();
  #trained = null;  // the steps of the model that is there
  #asked = 0;

  connectedCallback() {
    if (this.firstChild) return;
    this.innerHTML = `
      <div class="controls">
        <label>Source <select name="source">${choices(words)}</select></label>
        <label>Width w <input type="range" name="width" min="1" max="4"><output name="width"></output></label>
        <label>Penalty α <input type="range" name="alpha" min="0" max="2" step="0.2" value="0.6"><output name="alpha"></output></label>
        <label>Trained for <select name="steps">${choices(trainings)}</select> steps</label>
      </div>
      <p role="alert" hidden></p>
      <div class="wide" tabindex="0" role="group" aria-label="Steps of the search"><table class="beam"></table></div>
      <p class="status" role="status"></p>`;
    choose(this, 'source', this.getAttribute('source') ?? words[0]);
    choose(this, 'steps', this.getAttribute('steps') ?? trainings[0]);
    part(this, 'width').value = this.getAttribute('width') ?? 2;
    for (const input of this.querySelectorAll('select, input'))
      input.addEventListener('input', () => attempt(this, () => this.#search()));
    attempt(this, () => this.#search());
  }

  disconnectedCallback() { this.#library.close().catch(() => {}); }

  async #search() {
    const asked = ++this.#asked, [width, alpha] = ['width', 'alpha'].map((name) => Number(this.querySelector(`input[name=${name}]`).value));
    this.querySelector('output[name=width]').textContent = width;
    this.querySelector('output[name=alpha]').textContent = alpha.toFixed(1);
    const steps = Number(part(this, 'steps').value), source = part(this, 'source').value;
    if (steps !== this.#trained) {
      this.#trained = steps;
      await this.#library.ask({ ...training, steps });
    }
    const found = await this.#library.ask({ do: 'beam_search', source, width, length_penalty: alpha, max_length: 6 });
    if (asked !== this.#asked) return;
    this.#draw(found, source);
  }

  #draw({ steps, targets }, source) {
    const most = Math.max(...steps.map((step) => step.length));
    const head = element('tr');
    head.append(element('td'), ...Array.from({ length: most }, (_, n) => element('th', `${n + 1}.`)));
    this.querySelector('table').replaceChildren(head, ...steps.map((step, n) => {
      const row = element('tr');
      row.append(element('th', `step ${n + 1}`), ...step.map(({ text, log_probability, score, ended, kept }) => {
        const cell = element('td', '', { class: kept ? 'kept' : 'dropped' });
        cell.append(element('b', text + (ended ? '▪' : '…')),
                    element('small', `log P ${fixed(log_probability)}`), element('small', `score ${fixed(score)}`));
        return cell;
      }));
      return row;
    }));
    const [best] = targets, right = [...source].reverse().join('');
    this.querySelector('.status').textContent = `The best target is “${best.text}”, with a score of ${fixed(best.score)}` +
      (best.text === right ? ', and it is right.' : `. Right would be “${right}”.`);
  }
});
