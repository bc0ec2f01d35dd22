// <predict-loss>: the reader draws the loss at each place of a segment. Then a model is trained, and its curve joins.

import { fixed, number } from 'book/elements.js';
import { PredictThenSee } from 'book/predict_then_see.js';
import { texts } from 'book/texts.js';
import { TrainingRun } from 'book/training_run.js';
import { begin, segment } from 'book/variants.js';

const variant = 'Transformer, rotary', steps = 400;
const most = 3, finest = 0.1;  // nats
const left = 30, top = 10, wide = 310, high = 160;  // of the plane, in a picture of 350 by 200

const x_of = (place) => left + wide * place / (segment - 1);
const y_of = (nats) => top + high * (1 - Math.min(nats, most) / most);
const point = (nats, place) => `${x_of(place).toFixed(1)} ${y_of(nats).toFixed(1)}`;
const line = (values) => `M${values.map(point).join('L')}`;
const within = (value, least, greatest) => Math.min(Math.max(value, least), greatest);
const places = Array.from({ length: segment }, (_, place) => place);

customElements.define('predict-loss', class extends PredictThenSee {
  #place = 0;    // that the keyboard moves
  #last = null;  // where the cursor drew last: {place, nats}
  #answer = null;

  question = 'Nonsense words of five letters, each said twice, are cut into segments of 32 characters. A trained ' +
    'model predicts each character from those before it in its segment. Draw its loss at the 32 places.';
  hint = 'Draw with the mouse or a finger. Or use the arrow keys: left and right choose a place, up and down move ' +
    'the curve from there on.';
  see = 'Train the model, and see';

  prepare(field) {
    const ticks = [0, 1, 2, 3].map((nats) => `<path class="grid" d="M${left} ${y_of(nats)}h${wide}"/>
      <text x="${left - 6}" y="${y_of(nats)}" class="at-left">${nats}</text>`).join('');
    const names = [1, 8, 16, 24, 32].map((place) =>
      `<text x="${x_of(place - 1)}" y="${top + high + 14}">${place}</text>`).join('');
    field.innerHTML = `
      <div class="curve-plane" tabindex="0" role="application" aria-label="Loss by place. ${this.hint}">
      <svg viewBox="0 0 350 200" aria-hidden="true">${ticks}${names}
      <text x="${left + wide / 2}" y="196">place in the segment; nats a character upward</text>
      <path class="cursor"/><path class="predicted"/><path class="answered"/></svg></div>
      <output class="field-value"></output>`;
    const plane = field.firstElementChild;
    let before = '';  // what a finger found
    plane.addEventListener('pointerdown', (event) => {
      plane.setPointerCapture(event.pointerId);
      this.#last = null;
      before = this.prediction;
      this.#put(event);
    });
    plane.addEventListener('pointercancel', () => {  // the page scrolls
      if (!this.is_answered) this.predict(before);
    });
    plane.addEventListener('pointermove', (event) => { if (event.buttons) this.#put(event); });
    plane.addEventListener('keydown', (event) => this.#key(event));
  }

  get #values() {
    const drawn = this.prediction.split(',');
    return places.map((n) => this.prediction ? within(Number(drawn[n]) || 0, 0, most) : most / 2);
  }

  /// Draws from where the cursor was to where it is.
  #put({ clientX, clientY }) {
    if (this.is_answered) return;
    const { x, y } = new DOMPoint(clientX, clientY).matrixTransform(this.querySelector('svg').getScreenCTM().inverse());
    const place = within(Math.round((x - left) / wide * (segment - 1)), 0, segment - 1);
    const nats = within(most * (1 - (y - top) / high), 0, most);
    const values = this.#values, from = this.#last ?? { place, nats };
    for (const n of places)
      if (within(n, Math.min(from.place, place), Math.max(from.place, place)) === n)
        values[n] = nats + (from.nats - nats) * (n - place) / (from.place - place || 1);
    this.#last = { place, nats };
    this.#place = place;
    this.#predict(values);
  }

  #key(event) {
    const aside = { ArrowLeft: -1, ArrowRight: 1, Home: -segment, End: segment }[event.key];
    const up = { ArrowUp: finest, ArrowDown: -finest }[event.key];
    if (aside === undefined && (up === undefined || this.is_answered)) return;
    event.preventDefault();
    this.#place = within(this.#place + (aside ?? 0), 0, segment - 1);
    if (up === undefined) this.#read();
    else this.#predict(this.#values.map((nats, n) => n < this.#place ? nats : within(nats + up, 0, most)));
  }

  #predict(values) { this.predict(values.map((nats) => nats.toFixed(1)).join()); }

  draw(prediction, answer) {
    this.querySelector('.predicted').setAttribute('d', prediction ? line(this.#values) : '');
    this.querySelector('.answered').setAttribute('d', answer ? line(answer) : '');
    this.#answer = answer;
    this.#read();
  }

  /// Says what is at the place that the keyboard is at.
  #read() {
    this.querySelector('.cursor').setAttribute('d', `M${x_of(this.#place)} ${top}v${high}`);
    const own = this.prediction ? `you say ${fixed(this.#values[this.#place], 1)} nats` : 'nothing is drawn so far';
    this.querySelector('output').textContent = `Place ${this.#place + 1}: ${own}` +
      `${this.#answer ? `, the model loses ${number(this.#answer[this.#place])}` : ''}.`;
  }

  async compute(say) {
    const run = new TrainingRun(variant, begin(variant, texts['Words said twice']));
    try {
      await run.go(steps, () => say(`Training: step ${run.step} of ${steps}.`));
      const request = { do: 'losses_by_place', text: run.unseen, mode: 'chunks', segment, memory: segment };
      return (await run.ask(request)).nats;
    } finally {
      run.close();
    }
  }

  verdict(prediction, answer) {
    const far = this.#values.reduce((sum, nats, n) => sum + Math.abs(nats - answer[n]), 0) / segment;
    const falls = places.slice(1).map((n) => answer[n - 1] - answer[n]), cliff = falls.indexOf(Math.max(...falls)) + 1;
    return `Your curve is ${number(far)} nats from the model's on average. Its largest fall is from place ${cliff}, ` +
      `with ${number(answer[cliff - 1])} nats, to place ${cliff + 1}, with ${number(answer[cliff])}.`;
  }
});
