// <wrong-on-purpose>: trains a form of attention as it should be and with a mistake that public code makes, side
// by side. The attributes `form` and `mistake` choose what to begin with, and `steps` says how long both train.

import 'book/drawn_figure.js';
import { ask } from 'book/library.js';
import { attempt, choices, choose, number, part } from 'book/elements.js';
import { texts } from 'book/texts.js';
import { TrainingRun } from 'book/training_run.js';
import { begin_exhibit, most_steps, segment } from 'book/variants.js';

const blocks = 32, written = 100;
const offered = ['Words said twice', 'The House That Jack Built'];  // what cannot be learned by heart comes first
const right = 'as it should be';

async function continued(run, text) {
  const prompt = text.slice(0, segment / 2);
  const { text: more } = await run.ask({ do: 'write', prompt, length: written, temperature: 0.5 });
  return prompt + more;
}

/// A model that sees both ways cannot write, but it can fill in what is left blank.
async function filled_in(run, text) {
  const { blanked, filled } = await run.ask({ do: 'fill_in', text: text.slice(0, segment) });
  return `${blanked} → ${filled}`;
}

customElements.define('wrong-on-purpose', class extends HTMLElement {
  #exhibits = [];
  #runs = [];

  async connectedCallback() {
    if (this.firstChild) return;
    this.innerHTML = `
      <div class="controls">
        <label>Form <select name="form"></select></label>
        <label>Mistake <select name="mistake"></select></label>
        <label>Text <select name="text">${choices(offered)}</select></label>
        <button name="train">Train both</button>
      </div>
      <p role="alert" hidden></p>
      <p class="status" role="status">Nothing is trained yet.</p>
      <drawn-figure hidden></drawn-figure>
      <div hidden class="wide" tabindex="0" role="group" aria-label="Losses"><table>
        <caption>Nats a character of the end of the text, which was held back</caption><thead><tr><th>training</th>
        <th>fed in one pass</th><th>fed in order</th><th>writes</th></tr></thead><tbody></tbody></table></div>`;
    part(this, 'form').addEventListener('change', () => this.#name_mistakes());
    part(this, 'train').addEventListener('click', () => attempt(this, () => this.#press()));
    await attempt(this, async () => { this.#exhibits = (await ask({ do: 'exhibits' })).exhibits; });
    choose(this, 'form', this.getAttribute('form'), [...new Set(this.#exhibits.map(({ form }) => form))]);
    if (this.hasAttribute('form')) part(this, 'form').value = this.getAttribute('form');
    this.#name_mistakes();
    if (this.hasAttribute('mistake')) part(this, 'mistake').value = this.getAttribute('mistake');
  }

  disconnectedCallback() { this.#runs = []; }

  get #steps() { return Number(this.getAttribute('steps') ?? most_steps); }

  #name_mistakes() {
    const of_form = this.#exhibits.filter(({ form, mistake }) => form === part(this, 'form').value && mistake !== right);
    choose(this, 'mistake', null, of_form.map(({ mistake }) => mistake));
  }

  async #press() {
    const button = part(this, 'train');
    if (button.textContent === 'Stop') {
      this.#runs = [];  // #train sees that it is over
      return;
    }
    button.textContent = 'Stop';
    try {
      await this.#train();
    } finally {
      button.textContent = 'Train both';
    }
  }

  async #train() {
    const form = part(this, 'form').value, text = texts[part(this, 'text').value];
    const runs = [right, part(this, 'mistake').value].map(
      (mistake) => new TrainingRun(mistake, begin_exhibit({ form, mistake }, text)));
    this.#runs = runs;
    this.querySelector('tbody').replaceChildren();
    const goes_on = () => runs === this.#runs, steps = this.#steps;
    while (goes_on() && runs.some(({ step }) => step < steps)) {
      await Promise.all(runs.map((run) => run.some(steps)));
      if (goes_on()) this.#draw();
    }
    for (const run of runs) {
      if (goes_on()) await this.#score(run, run.unseen);
      run.close();
    }
  }

  #draw() {
    const [, wrong] = this.#runs;
    if (!wrong) return;
    this.querySelector('.status').textContent = `Step ${wrong.step} of ${this.#steps}: loss ${number(this.#runs[0].losses.at(-1))} ` +
        `nats as it should be, ${number(wrong.losses.at(-1))} with the mistake.`;
    const chart = this.querySelector('drawn-figure');
    chart.hidden = false;
    chart.show({ chart: {
      title: 'Loss of the batch', x_title: 'step', y_title: 'nats a character', curves: this.#runs.map(({ curve }) => curve),
    } });
  }

  /// The losses of a training, and what its model writes.
  async #score(run, text) {
    const losses = await run.ask({ do: 'score_in_order', text, blocks });
    const more = losses.in_order === undefined ? await filled_in(run, text) : await continued(run, text);
    this.querySelector('.wide').hidden = false;
    const row = this.querySelector('tbody').insertRow();
    for (const value of [run.name, number(losses.in_one_pass), number(losses.in_order), more])
      row.insertCell().textContent = value;
  }
});
