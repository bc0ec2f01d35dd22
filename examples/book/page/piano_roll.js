// <piano-roll>: four voices as bars, in 16ths to the right and in semitones upwards.
//
//     roll.show({
//       text,              // in the notation of book/chorale_notation.js
//       given,             // how many of its tokens were not written by a model
//       chosen,            // the number of a token, or null
//       looks: [{ token, weight }],  // what the choice of this token attended to
//       melody,            // a pitch or null for each quarter, where the reader may click a soprano in
//     });
//     roll.playhead(step);   // or null; the roll scrolls along
//
// Events: "choose" with detail {token}, when a note is clicked on or the arrow keys come to it; "cell" with detail
// {quarter, pitch}, when a cell of the melody is clicked on, or Enter or the space bar pressed there.

import { bar, highest, lowest, name_of, notes_of, pitch_of, quarter, steps_of, voices } from 'book/chorale_notation.js';

const left = 26, top = 14;  // pixels for labels
const strongest_lines = 8;  // as many keys get a line
const reading = { low: lowest, high: highest, step: 6.8, row: 6, least: 8 * bar };  // eight bars fit on a desk
const writing = { low: 59, high: highest, step: 8, row: 14, least: 2 * bar };  // cells that a finger finds

const tag = (name, attributes, text = '') =>
  `<${name} ${Object.entries(attributes).map(([key, value]) => `${key}="${value}"`).join(' ')}>${text}</${name}>`;
const within = (value, least, most) => Math.min(Math.max(value, least), most);

customElements.define('piano-roll', class extends HTMLElement {
  #shown = { text: '', given: 0, chosen: null, looks: [], melody: null };
  #cursor = { quarter: 0, pitch: 72 };

  connectedCallback() {
    if (this.firstChild) return;
    this.innerHTML = '<div class="roll wide" tabindex="0" role="application" aria-roledescription="piano roll"></div>';
    this.#plane.addEventListener('click', (event) => this.#click(event));
    this.#plane.addEventListener('keydown', (event) => this.#key(event));
    this.#draw();
  }

  get #plane() { return this.firstElementChild; }
  get #scale() { return this.#shown.melody ? writing : reading; }

  show(picture) {
    this.#shown = { looks: [], chosen: null, melody: null, ...picture };
    if (this.isConnected) this.#draw();
  }

  playhead(step) {
    const line = this.querySelector('.playhead'), plane = this.#plane;
    if (!line) return;
    line.toggleAttribute('hidden', step === null);
    if (step === null) return;
    const x = this.#x(step);
    line.setAttribute('x1', x);
    line.setAttribute('x2', x);
    const room = plane.clientWidth;
    if (x < plane.scrollLeft || x > plane.scrollLeft + 0.7 * room) plane.scrollLeft = x - 0.3 * room;
  }

  #x(step) { return Number((left + step * this.#scale.step).toFixed(2)); }
  #y(pitch) { return top + (this.#scale.high - pitch) * this.#scale.row; }

  #draw() {
    const { text, melody } = this.#shown, { step, row, low, high, least } = this.#scale;
    const steps = Math.max(least, Math.ceil(steps_of(text) / bar) * bar);
    const [width, bottom] = [this.#x(steps) + 2, this.#y(low) + row];
    this.#plane.setAttribute('aria-label', melody
      ? 'The soprano of two bars. The arrow keys move, Enter sets or takes away a note.'
      : `${notes_of(text).length} notes in four voices. The arrow keys read a note.`);
    const scrolled = this.#plane.scrollLeft;
    this.#plane.innerHTML = tag('svg', { viewBox: `0 0 ${width} ${bottom + 2}`, width, height: bottom + 2, 'aria-hidden': true },
      this.#grid(steps, bottom) + (melody ? this.#melody() : '') + this.#notes() + this.#looks() +
      tag('line', { class: 'playhead', hidden: '', y1: top, y2: bottom, x1: 0, x2: 0 }));
    this.#plane.scrollLeft = scrolled;
  }

  #grid(steps, bottom) {
    const { given } = this.#shown, { low, high } = this.#scale, right = this.#x(steps);
    const lines = (every, skip) => Array.from({ length: steps / every + 1 }, (_, n) => n * every)
      .filter((at) => !skip || at % skip).map((at) => `M${this.#x(at)} ${top}V${bottom}`).join('');
    let drawn = tag('rect', { class: 'given-part', x: left, y: top, width: this.#x(given / voices.length) - left, height: bottom - top });
    drawn += tag('path', { class: 'quarters', d: lines(quarter, bar) }) + tag('path', { class: 'bars', d: lines(bar) });
    for (let pitch = Math.ceil(low / 12) * 12; pitch <= high; pitch += 12) {
      const y = this.#y(pitch) + this.#scale.row;
      drawn += tag('path', { class: 'octaves', d: `M${left} ${y}H${right}` }) + tag('text', { x: 1, y: y - 1 }, name_of(pitch));
    }
    for (let at = 0; at < steps; at += bar) drawn += tag('text', { x: this.#x(at) + 2, y: 10 }, at / bar + 1);
    return drawn;
  }

  #bar({ voice, pitch, start, end }, kind) {
    return tag('rect', { class: `note ${kind}`, style: `--voice: var(--voice-${voice})`, x: this.#x(start), y: this.#y(pitch),
                         width: (end - start) * this.#scale.step - 1, height: this.#scale.row - 0.5, rx: 1.5 });
  }

  /// A note that goes on from the given part into the written one is drawn as two.
  #notes() {
    const { text, given } = this.#shown;
    const part = (from, to, kind) => notes_of(text.slice(from, to)).map((note) =>
      this.#bar({ ...note, start: note.start + from / voices.length, end: note.end + from / voices.length }, kind)).join('');
    return part(0, given, 'given') + part(given, text.length, 'written');
  }

  #melody() {
    const { melody } = this.#shown, { low, high, row, step } = this.#scale, { quarter: at, pitch } = this.#cursor;
    const cell = { width: quarter * step, height: row };
    return tag('rect', { class: 'melody-cells', x: left, y: this.#y(high), width: melody.length * cell.width, height: (high - low + 1) * row }) +
      tag('rect', { class: 'melody-cursor', x: this.#x(at * quarter), y: this.#y(pitch), ...cell }) +
      melody.map((pitch, n) => pitch === null ? '' : this.#bar({ voice: 0, pitch, start: n * quarter, end: (n + 1) * quarter }, 'clicked')).join('');
  }

  /// The place of a token's cell.
  #cell(token) {
    const step = Math.floor(token / voices.length), pitch = pitch_of(this.#shown.text[token]) ?? this.#scale.low;
    return { x: this.#x(step), y: this.#y(pitch), width: this.#scale.step - 1, height: this.#scale.row - 0.5 };
  }

  #looks() {
    const { chosen, looks } = this.#shown;
    if (chosen === null) return '';
    const most = Math.max(...looks.map(({ weight }) => weight), 0), middle = ({ x, y, width, height }) => [x + width / 2, y + height / 2];
    const own = this.#cell(chosen), [x1, y1] = middle(own);
    const strongest = looks.toSorted((a, b) => b.weight - a.weight).slice(0, strongest_lines);
    return looks.filter(({ weight }) => weight > 0.02 * most).map(({ token, weight }) =>
      tag('rect', { class: 'looked-at', 'data-token': token, 'data-weight': weight, opacity: (weight / most).toFixed(3), ...this.#cell(token) })).join('') +
      strongest.map(({ token, weight }) => {
        const [x2, y2] = middle(this.#cell(token));
        return tag('line', { class: 'looks', x1, y1, x2, y2, opacity: (weight / most).toFixed(3) });
      }).join('') + tag('rect', { class: 'chosen', ...own });
  }

  #click(event) {
    const svg = this.querySelector('svg').getBoundingClientRect(), { step, row, low, high } = this.#scale;
    const at = (event.clientX - svg.left - left) / step, pitch = high - Math.floor((event.clientY - svg.top - top) / row);
    const { melody, text } = this.#shown;
    if (melody) {
      this.#cursor = { quarter: within(Math.floor(at / quarter), 0, melody.length - 1), pitch: within(pitch, low, high) };
      if (at >= 0 && at < melody.length * quarter) this.#send('cell', this.#cursor);
      return;
    }
    const from = Math.floor(at) * voices.length;
    const distance = (token) => Math.abs((pitch_of(text[token]) ?? Infinity) - pitch);
    const near = voices.map((_, voice) => from + voice).filter((token) => token >= 0 && token < text.length && distance(token) <= 1);
    if (near.length) this.#choose(near.sort((a, b) => distance(a) - distance(b))[0]);
  }

  #key(event) {
    const [x, y] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key] ?? [0, 0];
    const { melody, text, chosen, given } = this.#shown;
    const presses = melody && (event.key === 'Enter' || event.key === ' ');
    if (!x && !y && !presses) return;
    event.preventDefault();
    if (presses) this.#send('cell', this.#cursor);
    else if (melody) {
      const { quarter, pitch } = this.#cursor;
      this.#cursor = { quarter: within(quarter + x, 0, melody.length - 1), pitch: within(pitch + y, this.#scale.low, this.#scale.high) };
      this.#draw();
    } else if (text) {
      const next = chosen === null ? given : chosen + x * voices.length - y;
      this.#choose(within(next, 0, text.length - 1));
    }
  }

  #choose(token) {
    this.#send('choose', { token });
    const { x } = this.#cell(token), plane = this.#plane;
    if (x < plane.scrollLeft || x > plane.scrollLeft + plane.clientWidth) plane.scrollLeft = x - plane.clientWidth / 2;
  }

  #send(name, detail) { this.dispatchEvent(new CustomEvent(name, { detail: { ...detail } })); }
});
