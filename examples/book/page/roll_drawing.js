// The drawing of a piano roll: a grid of bars, quarters, eighths and octaves, and notes as bars. <piano-roll> shows it,
// and the rolls of the front page are drawn when the book is made.

import { bar, highest, is_off_beat, lowest, name_of, notes_of, quarter, steps_of, voices, written_notes } from 'book/chorale_notation.js';

export const left = 26, top = 14;  // pixels for labels

export const tag = (name, attributes, text = '') =>
  `<${name} ${Object.entries(attributes).map(([key, value]) => `${key}="${value}"`).join(' ')}>${text}</${name}>`;

/// Where pitches and 16ths are, in pixels.
class Scale {
  constructor(sizes) { Object.assign(this, sizes); }

  x(step) { return Number((left + step * this.step).toFixed(2)); }
  y(pitch) { return top + (this.high - pitch) * this.row; }
  get bottom() { return this.y(this.low) + this.row; }

  /// The 16ths that a roll has room for: whole bars.
  room(text) { return Math.max(this.least, Math.ceil(steps_of(text) / bar) * bar); }

  svg(text, given, drawn) {
    const width = this.x(this.room(text)) + 2, height = this.bottom + 2;
    return tag('svg', { viewBox: `0 0 ${width} ${height}`, width, height, 'aria-hidden': true }, this.#grid(text, given) + drawn +
      tag('line', { class: 'playhead', hidden: '', y1: top, y2: this.bottom, x1: 0, x2: 0 }));
  }

  #grid(text, given) {
    const { low, high, bottom } = this, steps = this.room(text), right = this.x(steps);
    const lines = (every, skip) => Array.from({ length: steps / every + 1 }, (_, n) => n * every)
      .filter((at) => !skip || at % skip).map((at) => `M${this.x(at)} ${top}V${bottom}`).join('');
    let drawn = tag('rect', { class: 'given-part', x: left, y: top, width: this.x(given / voices.length) - left, height: bottom - top });
    drawn += tag('path', { class: 'eighths', d: lines(quarter / 2, quarter) });
    drawn += tag('path', { class: 'quarters', d: lines(quarter, bar) }) + tag('path', { class: 'bars', d: lines(bar) });
    for (let pitch = Math.ceil(low / 12) * 12; pitch <= high; pitch += 12) {
      const y = this.y(pitch) + this.row;
      drawn += tag('path', { class: 'octaves', d: `M${left} ${y}H${right}` }) + tag('text', { x: 1, y: y - 1 }, name_of(pitch));
    }
    for (let at = 0; at < steps; at += bar) drawn += tag('text', { x: this.x(at) + 2, y: 10 }, at / bar + 1);
    return drawn;
  }

  /// How wide a note is that sounds for so many 16ths.
  width(steps) { return Number((steps * this.step - 1).toFixed(2)); }

  bar({ voice, pitch, start, end }, kind) {
    return tag('rect', { class: `note ${kind}`, style: `--voice: var(--voice-${voice})`, 'data-start': start, 'data-end': end, x: this.x(start), y: this.y(pitch),
                         width: this.width(end - start), height: this.row - 0.5, rx: 1.5 });
  }

  /// A note that goes on from the given part into the written one is drawn as two, of which the second is held.
  notes(text, given) {
    const from = given / voices.length, begun = written_notes(text, given);
    const is_begun = (note) => begun.some(({ voice, start }) => voice === note.voice && start === note.start);
    const written = notes_of(text.slice(given)).map((note) => ({ ...note, start: note.start + from, end: note.end + from }));
    return notes_of(text.slice(0, given)).map((note) => this.bar(note, 'given')).join('') +
      written.map((note) => this.bar(note, is_begun(note) ? 'written' : 'written held')).join('');
  }

  /// A circle where a written note begins between two eighths.
  marks(text, given) {
    return written_notes(text, given).filter(is_off_beat).map(({ start, pitch }) =>
      tag('circle', { class: 'off-beat', 'data-start': start, cx: this.x(start), cy: this.y(pitch) + this.row / 2, r: 5 })).join('');
  }
}

export const reading = new Scale({ low: lowest, high: highest, step: 6.8, row: 6, least: 8 * bar });  // eight bars fit on a desk
export const comparing = new Scale({ low: lowest, high: highest, step: 6.8, row: 4, least: 8 * bar });  // two rolls fit on a desk
export const writing = new Scale({ low: 59, high: highest, step: 8, row: 14, least: 2 * bar });  // cells that a finger finds

/// Brings the line of what sounds to a 16th, or takes it away for null. The roll scrolls along.
export function put_playhead(roll, scale, step) {
  const line = roll.querySelector('.playhead');
  if (!line) return;
  line.toggleAttribute('hidden', step === null);
  if (step === null) return;
  const x = scale.x(step), room = roll.clientWidth;
  line.setAttribute('x1', x);
  line.setAttribute('x2', x);
  if (x < roll.scrollLeft || x > roll.scrollLeft + 0.7 * room) roll.scrollLeft = x - 0.3 * room;
}
