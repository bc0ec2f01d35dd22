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

import { name_of, notes_of, pitch_of, quarter, voices } from 'book/chorale_notation.js';
import { left, put_playhead, reading, tag, top, writing } from 'book/roll_drawing.js';

const arcs = 8;        // to the keys with the most weight
const widest_arc = 7;  // pixels, of all the weight
const within = (value, least, most) => Math.min(Math.max(value, least), most);
const middle = ({ x, y, width, height }) => [x + width / 2, y + height / 2];

/// A curve from a note to an earlier one, above the line between them, or to its left where that stands upright.
function arc([x1, y1], [x2, y2]) {
  const across = x2 - x1, down = y2 - y1, length = Math.hypot(across, down);
  const bow = Math.min(13 + 0.1 * length, 17) * 2 / length * (across < down ? 1 : -1);
  const round = (value) => value.toFixed(1);
  return `M${x1} ${y1}Q${round((x1 + x2) / 2 - bow * down)} ${round((y1 + y2) / 2 + bow * across)} ${x2} ${y2}`;
}

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

  playhead(step) { put_playhead(this.#plane, this.#scale, step); }

  #draw() {
    const { text, given, melody } = this.#shown, scale = this.#scale;
    this.#plane.setAttribute('aria-label', melody
      ? 'The soprano of two bars. The arrow keys move, Enter sets or takes away a note.'
      : `${notes_of(text).length} notes in four voices. The arrow keys read a note.`);
    const scrolled = this.#plane.scrollLeft;
    this.#plane.innerHTML = scale.svg(text, given, (melody ? this.#melody() : '') + scale.notes(text, given) + this.#looks());
    this.#plane.scrollLeft = scrolled;
  }

  #melody() {
    const { melody } = this.#shown, scale = this.#scale, { low, high, row, step } = scale, { quarter: at, pitch } = this.#cursor;
    const cell = { width: quarter * step, height: row };
    return tag('rect', { class: 'melody-cells', x: left, y: scale.y(high), width: melody.length * cell.width, height: (high - low + 1) * row }) +
      tag('rect', { class: 'melody-cursor', x: scale.x(at * quarter), y: scale.y(pitch), ...cell }) +
      melody.map((pitch, n) => pitch === null ? '' : scale.bar({ voice: 0, pitch, start: n * quarter, end: (n + 1) * quarter }, 'clicked')).join('');
  }

  /// The place of a token's cell.
  #cell(token) {
    const step = Math.floor(token / voices.length), pitch = pitch_of(this.#shown.text[token]) ?? this.#scale.low;
    return { x: this.#scale.x(step), y: this.#scale.y(pitch), width: this.#scale.step - 1, height: this.#scale.row - 0.5 };
  }

  #looks() {
    const { chosen, looks } = this.#shown;
    if (chosen === null) return '';
    const own = this.#cell(chosen), strongest = looks.toSorted((a, b) => b.weight - a.weight).slice(0, arcs);
    return strongest.map(({ token, weight }) => {
      const cell = this.#cell(token);
      return tag('rect', { class: 'looked-at', 'data-token': token, ...cell }) +
        tag('path', { class: 'looks', d: arc(middle(own), middle(cell)), 'stroke-width': (widest_arc * weight).toFixed(2) });
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
