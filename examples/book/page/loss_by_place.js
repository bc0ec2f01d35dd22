// <loss-by-place>: trains a model on words that are said twice, and shows its loss at each place of a segment: the
// same characters, each at every place. A model with a memory is read with it, too.

import 'book/drawn_figure.js';
import { attempt, choices, choose, number, part } from 'book/elements.js';
import { texts } from 'book/texts.js';
import { TrainingRun } from 'book/training_run.js';
import { begin, segment } from 'book/variants.js';
import { when_seen } from 'book/when_seen.js';

const variants = ['Transformer, rotary', 'Transformer, learned positions', 'Transformer-XL'];
const most_steps = 400, between_looks = 100;  // steps
const places = Array.from({ length: segment }, (_, n) => n + 1);

customElements.define('loss-by-place', class extends HTMLElement {
  #run = null;

  connectedCallback() {
    if (this.firstChild) return;
    this.innerHTML = `
      <div class="controls">
        <label>Model <select name="variant">${choices(variants)}</select></label>
        <button type="button" name="train">Train</button>
      </div>
      <p role="alert" hidden></p>
      <p class="status" role="status">Nothing is trained yet.</p>
      <drawn-figure></drawn-figure>`;
    choose(this, 'variant', this.getAttribute('variant') ?? variants[0]);
    part(this, 'train').addEventListener('click', () => this.#press());
    part(this, 'variant').addEventListener('change', () => this.#stop('Nothing is trained yet.'));
    if (this.hasAttribute('begins')) when_seen(this, () => { if (!this.#run) this.#press(); });
  }

  disconnectedCallback() { this.#run?.close(); }

  #stop(say) {
    this.#run?.close();
    this.#run = null;
    part(this, 'train').disabled = false;
    this.querySelector('.status').textContent = say;
    this.querySelector('drawn-figure').hidden = true;  // it shows another model
  }

  #press() {
    const variant = part(this, 'variant').value;
    this.#stop('');
    const run = new TrainingRun(variant, begin(variant, texts['Words said twice']));
    this.#run = run;
    part(this, 'train').disabled = true;
    let looked = -between_looks;
    attempt(this, () => run.go(most_steps, async () => {
      if (run !== this.#run) return;
      this.querySelector('.status').textContent = `Step ${run.step} of ${most_steps}.`;
      if (run.step - looked < between_looks && run.step < most_steps) return;
      looked = run.step;
      await this.#read(run);
    })).finally(() => { if (run === this.#run) part(this, 'train').disabled = false; });
  }

  async #read(run) {
    const ask = async (mode) =>
      (await run.ask({ do: 'losses_by_place', text: run.unseen, mode, segment, memory: segment })).nats;
    const cut = await ask('chunks'), behind = run.name === 'Transformer-XL' ? await ask('memory') : null;
    if (run !== this.#run) return;
    const mean = (list) => list.reduce((sum, value) => sum + value, 0) / list.length;
    const sliding = cut.at(-1);
    this.querySelector('.status').textContent = `Step ${run.step} of ${most_steps}. The mean of a segment is ` +
      `${number(mean(cut))} nats, ${number(cut[0])} at the first place and ${number(sliding)} at the last` +
      (behind ? `; behind a memory the mean is ${number(mean(behind))}.` : '.');
    this.querySelector('drawn-figure').hidden = false;
    await this.querySelector('drawn-figure').show({ chart: {
      title: `Loss of unseen words by place in the segment: ${run.name}`, x_title: 'characters of the segment that are seen', y_title: 'nats a character',
      curves: [
        { name: `segments of ${segment}`, xs: places, ys: cut },
        { name: 'a window that slides', xs: places, ys: places.map(() => sliding) },
        ...(behind ? [{ name: `segments behind a memory of ${segment}`, xs: places, ys: behind }] : []),
      ],
    } });
  }
});
