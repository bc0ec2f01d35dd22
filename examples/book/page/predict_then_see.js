// "Predict, then see": a figure that asks before it shows. The reader predicts in the figure's own way; a button then
// has the library answer, and the figure lays the answer over the prediction.
//
// A figure says
//     question            what to predict
//     hint                how to do it, with the mouse and by the keyboard
//     see                 what the button says
//     prepare(field)      makes what the reader predicts with
//     draw(prediction, answer)   shows both; the answer is null until the button is pressed
//     compute(say)        asks the library, and may say how far it has come
//     verdict(prediction, answer)   a sentence about both
// and calls `predict` with a text, which is part of the figure's address.

import { attempt, part } from 'book/elements.js';

export class PredictThenSee extends HTMLElement {
  #answer = null;
  #asked = 0;

  connectedCallback() {
    if (this.firstChild) return;
    this.innerHTML = `
      <p class="step">${this.question}</p>
      <div class="field"></div>
      <input type="hidden" name="prediction">
      <div class="controls"><button type="button" name="see">${this.see}</button>
        <button type="button" name="again">Predict again</button></div>
      <p role="alert" hidden></p>
      <p class="status" role="status"></p>`;
    this.prepare(this.querySelector('.field'));
    part(this, 'prediction').addEventListener('input', () => this.#show());
    part(this, 'see').addEventListener('click', () => attempt(this, () => this.#see()));
    part(this, 'again').addEventListener('click', () => this.predict(''));
    this.#show();
  }

  get prediction() { return part(this, 'prediction').value; }

  /// Whether the answer shows.
  get is_answered() { return this.#answer !== null; }

  /// Whether there is all that it takes to answer.
  get is_ready() { return this.prediction !== ''; }

  predict(text) {
    part(this, 'prediction').value = text;
    this.#show();
  }

  /// Shows the prediction alone.
  #show() {
    ++this.#asked;
    this.#answer = null;
    this.show_ready();
    this.draw(this.prediction, null);
    this.#say(this.hint);
  }

  show_ready() {
    part(this, 'see').disabled = !this.is_ready || this.is_answered;
    part(this, 'again').disabled = !this.prediction;
  }

  async #see() {
    const asked = ++this.#asked;
    part(this, 'see').disabled = true;
    try {
      const answer = await this.compute((text) => { if (asked === this.#asked) this.#say(text); });
      if (asked !== this.#asked) return;
      this.#answer = answer;
      this.draw(this.prediction, answer);
      this.#say(this.verdict(this.prediction, answer));
    } finally {
      if (asked === this.#asked) this.show_ready();
    }
  }

  #say(text) { this.querySelector('.status').textContent = text; }
}
