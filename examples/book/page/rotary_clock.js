// <rotary-clock p="9" j="4">: rotary positions as clocks. Each pair of channels is a clock with two hands, of the query
// and of the key, which positions turn. The library computes what each pair adds to q·k, for all positions at once:
// each head has one pair, in which query and key agree before they are turned, and each query attends to all keys.

import { attempt, element, fixed, part, slider } from 'book/elements.js';
import { ask } from 'book/library.js';
import { filled, identity } from 'book/numbers.js';
import { below } from 'book/subscripts.js';

const places = 32, D = 8, pairs = D / 2;
const radius = 40, middle = 50;  // of a clock in a picture of 100 by 100
const lengths = { p: 0.95, j: 0.7 };  // of hands
const speed = (n) => 10000 ** (-2 * n / D);
const within = (value, least, most) => Math.min(Math.max(value, least), most);
const keys = { ArrowRight: ['p', 1], ArrowLeft: ['p', -1], ArrowUp: ['j', 1], ArrowDown: ['j', -1] };

/// The end of a hand, or of an arc: angles grow from the top, to the right.
const end = (angle, length) =>
  [middle + length * Math.sin(angle), middle - length * Math.cos(angle)].map((value) => value.toFixed(2)).join(' ');

/// The least turn from one angle to another.
function turn(from, to) {
  const angle = to - from;
  return angle - 2 * Math.PI * Math.round(angle / (2 * Math.PI));
}

/// The part of a clock between two hands.
function sector(from, to) {
  const angle = turn(from, to), r = radius * 0.45;
  return `M${middle} ${middle}L${end(from, r)}A${r} ${r} 0 0 ${Number(angle > 0)} ${end(from + angle, r)}Z`;
}

/// Returns terms[n][p][j]: the product of the query at p and the key at j, in pair n. The weights of a head are the
/// softmax of it, so their logarithms say it but for what all keys of a query share. At its own place it is 1.
async function turned() {
  const C = pairs * D, scale = D ** 0.25;
  const bias = filled([3 * C], 0), weight = filled([3 * C, C], 0), x = filled([places, places, C], 0);
  for (let n = 0; n < pairs; ++n) {
    bias.values[n * D + n] = bias.values[C + n * D + n] = scale;  // so that q·k / √D is at most 1
    weight.values[(2 * C + n * D) * C] = 1;
  }
  for (let j = 0; j < places; ++j) x.values[(j * places + j) * C] = 1;  // the value of token j in text j, others are 0
  const { tensors: { output } } = await ask({
    do: 'run_layer', layer: 'multi_head_attention',
    config: { d_model: C, n_head: pairs, position: 'rope', causal: false },
    tensors: {
      'param.qkv.weight': weight, 'param.qkv.bias': bias,
      'param.output.weight': identity(C), 'param.output.bias': filled([C], 0),
      'input.x': x, grad_output: filled([places, places, C], 0),
    },
  });
  const weight_of = (n, p, j) => output.values[(j * places + p) * C + n * D];
  const all = Array.from({ length: places }, (_, place) => place);
  return Array.from({ length: pairs }, (_, n) =>
    all.map((p) => all.map((j) => 1 + Math.log(weight_of(n, p, j) / weight_of(n, p, p)))));
}

customElements.define('rotary-clock', class extends HTMLElement {
  #terms = null;

  connectedCallback() {
    if (this.firstChild) return;
    const range = (name, title) => slider({ name, title, most: places - 1, start: this.getAttribute(name) });
    this.innerHTML = `
      <div class="controls">${range('p', 'Query at p')}${range('j', 'Key at j')}
        <button type="button" name="back">Both one back</button>
        <button type="button" name="on">Both one on</button></div>
      <p role="alert" hidden></p>
      <div class="clocks" tabindex="0" role="application"
        aria-label="Clocks. Left and right turn the query, up and down the key."></div>
      <p class="status" role="status"></p>`;
    this.querySelector('.clocks').append(...Array.from({ length: pairs }, (_, n) => this.#clock(n)));
    for (const name of ['p', 'j']) this.#input(name).addEventListener('input', () => this.#draw());
    part(this, 'on').addEventListener('click', () => this.#move(1, 1));
    part(this, 'back').addEventListener('click', () => this.#move(-1, -1));
    this.querySelector('.clocks').addEventListener('keydown', (event) => this.#key(event));
    attempt(this, async () => {
      this.#terms = await turned();
      this.#draw();
    });
  }

  #input(name) { return this.querySelector(`input[name=${name}]`); }
  #place(name) { return Number(this.#input(name).value); }

  #clock(n) {
    const made = element('div', '', { class: 'clock' });
    made.innerHTML = `<svg viewBox="0 0 100 100" aria-hidden="true">
      <circle cx="${middle}" cy="${middle}" r="${radius}"/>
      <path class="between means-distance"/><path class="hand means-query" data-name="p"/>
      <path class="hand means-key" data-name="j"/></svg>
      <span>pair ${n}, <i>θ</i>${below(n)} = ${speed(n)}</span><output></output>`;
    for (const hand of made.querySelectorAll('.hand')) {
      hand.addEventListener('pointerdown', (event) => {
        hand.setPointerCapture(event.pointerId);
        event.preventDefault();
      });
      hand.addEventListener('pointermove', (event) => { if (event.buttons) this.#drag(hand, n, event); });
    }
    return made;
  }

  /// Turns a hand to the cursor, by less than half a turn.
  #drag(hand, n, { clientX, clientY }) {
    const { name } = hand.dataset;
    const point = new DOMPoint(clientX, clientY).matrixTransform(hand.getScreenCTM().inverse());
    const angle = turn(this.#place(name) * speed(n), Math.atan2(point.x - middle, middle - point.y));
    this.#put(name, this.#place(name) + Math.round(angle / speed(n)));
  }

  #put(name, place) {
    this.#input(name).value = within(place, 0, places - 1);
    this.#draw();
  }

  /// Moves both, as far as both can.
  #move(p, j) {
    const next = [['p', this.#place('p') + p], ['j', this.#place('j') + j]];
    if (next.every(([, place]) => place === within(place, 0, places - 1)))
      for (const [name, place] of next) this.#put(name, place);
  }

  #key(event) {
    const [name, step] = keys[event.key] ?? [];
    if (!name) return;
    event.preventDefault();
    this.#put(name, this.#place(name) + step);
  }

  #draw() {
    const p = this.#place('p'), j = this.#place('j');
    for (const name of ['p', 'j']) this.querySelector(`output[name=${name}]`).textContent = this.#place(name);
    const terms = this.#terms?.map((term) => term[p][j]);
    this.querySelectorAll('.clock').forEach((clock, n) => {
      for (const [name, length] of Object.entries(lengths))
        clock.querySelector(`[data-name=${name}]`).setAttribute('d',
          `M${middle} ${middle}L${end(this.#place(name) * speed(n), radius * length)}`);
      clock.querySelector('.between').setAttribute('d', sector(p * speed(n), j * speed(n)));
      clock.querySelector('output').textContent = terms ? `adds ${fixed(terms[n], 3)}` : '';
    });
    if (terms)
      this.querySelector('.status').textContent = `The distance is p − j = ${fixed(p - j, 0)}. ` +
        `Together the pairs add ${fixed(terms.reduce((sum, term) => sum + term), 3)}.`;
  }
});
