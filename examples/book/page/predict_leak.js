// <predict-leak form="Transformer-XL" mistake="a softmax over the queries" steps="120">: two trainings, one as it
// should be and one whose model reads what it should predict. The reader says by their losses which one leaks. Then
// both read in order, as a model writes, where nothing can be read ahead.

import 'book/drawn_figure.js';
import { attempt, number, part } from 'book/elements.js';
import { PredictThenSee } from 'book/predict_then_see.js';
import { texts } from 'book/texts.js';
import { TrainingRun } from 'book/training_run.js';
import { begin_exhibit } from 'book/variants.js';

const right = 'as it should be', blocks = 32;
const sides = ['A', 'B'];

customElements.define('predict-leak', class extends PredictThenSee {
  #runs = [];   // of A and B

  question = 'The same model is trained twice, from the same start. In one of the trainings it can read the future, ' +
    'which it should predict. Train both, then say which one leaks.';
  hint = 'The loss is that of the batch, as a training prints it.';
  see = 'Let both read in order, and see';

  prepare(field) {
    field.innerHTML = `<div class="controls"><button type="button" name="train">Train both</button></div>
      <drawn-figure hidden></drawn-figure>
      <div class="controls" role="group" aria-label="Which one leaks?">
        ${sides.map((side) => `<button type="button" name="${side}">${side} leaks</button>`).join('')}</div>`;
    part(this, 'train').addEventListener('click', () => attempt(this, () => this.#train()));
    for (const side of sides) part(this, side).addEventListener('click', () => this.predict(side));
  }

  disconnectedCallback() { this.#close(); }

  #close() {
    for (const run of this.#runs) run.close();
    this.#runs = [];
  }

  get #steps() { return Number(this.getAttribute('steps')); }
  get #is_trained() { return this.#runs.length > 0 && this.#runs.every(({ step }) => step >= this.#steps); }
  get is_ready() { return super.is_ready && this.#is_trained; }

  async #train() {
    this.#close();
    this.predict('');
    const form = this.getAttribute('form'), wrong = this.getAttribute('mistake');
    const of_sides = Math.random() < 0.5 ? [wrong, right] : [right, wrong];
    const text = texts['Words said twice'];
    const runs = of_sides.map((mistake) => new TrainingRun(mistake, begin_exhibit({ form, mistake }, text)));
    this.#runs = runs;
    part(this, 'train').disabled = true;
    try {
      while (runs === this.#runs && !this.#is_trained) {
        await Promise.all(runs.map((run) => run.some(this.#steps)));
        await this.#chart();
      }
    } finally {
      part(this, 'train').disabled = false;
      this.show_ready();
      this.draw(this.prediction);
    }
  }

  async #chart() {
    const chart = this.querySelector('drawn-figure');
    chart.hidden = false;
    await chart.show({ chart: {
      title: `Loss of the batch, ${this.#steps} steps`, x_title: 'step', y_title: 'nats a character',
      curves: this.#runs.map(({ curve }, n) => ({ ...curve, name: sides[n] })),
    } });
  }

  draw(prediction) {
    for (const side of sides) {
      part(this, side).setAttribute('aria-pressed', String(side === prediction));
      part(this, side).disabled = this.is_answered || !this.#is_trained;
    }
  }

  /// What both lose in one pass, as in training, and in order.
  compute() {
    return Promise.all(this.#runs.map(async (run) =>
      ({ name: run.name, ...await run.ask({ do: 'score_in_order', text: run.unseen, blocks }) })));
  }

  verdict(prediction, answer) {
    const leaks = sides[answer.findIndex(({ name }) => name !== right)];
    const losses = answer.map(({ in_one_pass, in_order }, n) =>
      `${sides[n]} loses ${number(in_one_pass)} nats of unseen text in one pass and ${number(in_order)} in order`);
    return `${prediction === leaks ? 'Right' : 'No'}: ${leaks} leaks, with ${this.getAttribute('mistake')}. ` +
      `${losses.join('; ')}.`;
  }
});
