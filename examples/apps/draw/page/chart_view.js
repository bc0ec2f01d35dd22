// The charts of <drawn-figure>. A chart's metadata has its numbers (apps/draw/chart.h), so that a page draws it again
// by a view of it:
//
//     { low, high,     the part of the x axis that shows, as values; null is all of it
//       time,          whether times stand in the place of x
//       log_x, log_y,  whether an axis is logarithmic
//       smoothing }    over about how many points a noisy curve is a mean; 0 is none
//
// The whole chart on its own axes is what the library drew. The metadata always has the numbers of what shows.

export const whole = { low: null, high: null, time: false, log_x: false, log_y: false, smoothing: 0 };

const room = 0.05;  // the share of an axis that stays empty above and below
const letter = 7.44, beside_ticks = 11, usual_width = 260;  // pixels, as in apps/draw/chart.cpp

export const within = (n, count) => Math.min(Math.max(n, 0), count - 1);
export const digits = (value, count = 4) => value === undefined ? '–' : String(Number(value.toPrecision(count)));

export function svg_element(tag, attributes, text = '') {
  const made = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.textContent = text;
  return made;
}

const percent = (share) => `${Math.round(1e4 * share) / 100}%`;
/// A place in the plane of curves, which is 1000 wide and high.
const coordinates = (x, y) => `${Math.round(1e6 * x) / 1e3} ${Math.round(1e6 * (1 - y)) / 1e3}`;
const bounded = (value) => Math.min(Math.max(value, -Number.MAX_VALUE), Number.MAX_VALUE);

/// `least` digits, and as many more as tell values of this size apart where they differ by a small part of it.
const digits_for = (least, size, difference) =>
  Math.min(Math.max(Math.ceil(Math.log10(size / difference)) || 0, least), 17);

/// Whether there is hardly a number between two values, so that an axis has only one.
const are_one = (low, high) =>
  high / 2 - low / 2 <= Math.max(1e-12 * Math.max(Math.abs(low), Math.abs(high)), 1e-300);

/// The part of a line between two values, linear or logarithmic. As in apps/draw/chart.cpp, it halves places, since all
/// of a range may be more than a number can hold.
class Scale {
  constructor(low, high, logarithmic) {
    this.place = (value) => (logarithmic ? Math.log(value) : value) / 2;
    this.value = (place) => logarithmic ? Math.exp(2 * place) : 2 * place;
    Object.assign(this, { low, high, logarithmic });
  }

  get range() { return this.place(this.high) - this.place(this.low); }
  get size() { return Math.max(Math.abs(this.low), Math.abs(this.high)); }
  /// The digits that show a hundredth of the range.
  get digits() { return digits_for(4, this.size, (this.high / 2 - this.low / 2) / 50); }
  share(value) { return (this.place(value) - this.place(this.low)) / this.range; }
  at(share) { return bounded(this.value(this.place(this.low) + share * this.range)); }
  has(value) { return Math.abs(this.share(value) - 0.5) < 0.5 + 1e-6; }

  /// Round values that keep at least this distance, a share of the line: multiples of 1, 2 or 5 times a power of
  /// ten, or these powers first where a logarithmic line has several.
  ticks(most, distance) {
    const kept = [];
    for (const value of this.#round_values(most))
      if (this.has(value) && kept.every((other) => Math.abs(this.share(other) - this.share(value)) >= distance))
        kept.push(value);
    return kept;
  }

  #round_values(most) {
    if (this.logarithmic && this.high > 10 * this.low) {
      const first = Math.floor(Math.log10(this.low)), count = Math.ceil(Math.log10(this.high)) - first + 1;
      const powers = Array.from({ length: count }, (_, n) => Number(`1e${first + n}`));
      return [1, 2, 5].flatMap((factor) => powers.map((power) => Number((factor * power).toPrecision(7))));
    }
    const least = this.high / most - this.low / most;
    let step = 10 ** Math.floor(Math.log10(least));
    for (const factor of [2, 2.5, 2]) if (least > step) step *= factor;
    const first = Math.ceil(this.low / step - 1e-9), count = Math.floor(this.high / step + 1e-9) - first + 1;
    const kept = digits_for(7, this.size, step / 10);
    return Array.from({ length: count || 0 }, (_, n) => Number(((first + n) * step).toPrecision(kept)));
  }
}

/// The least and the greatest value, or Infinity and -Infinity. There may be too many for Math.min(...values).
const ends_of = (values) => values.reduce(
  ([least, most], value) => [Math.min(least, value), Math.max(most, value)], [Infinity, -Infinity]);

/// The scale around values.
function around(values, logarithmic, empty) {
  const [least, most] = ends_of(values), low = bounded(least), high = bounded(most);
  if (least > most) return new Scale(1, 2, logarithmic);
  if (are_one(low, high)) {
    const size = Math.max(Math.abs(low), Math.abs(high)), more = size > 1e-300 ? size / 20 : 1;
    return new Scale(bounded(low - more), bounded(high + more), logarithmic);
  }
  const scale = new Scale(low, high, logarithmic);
  return new Scale(scale.at(-empty), scale.at(1 + empty), logarithmic);
}

/// Means of the newest values: each weighs more than the one before it.
function smoothed(points, count) {
  let sum = 0, weight = 0;
  return points.map((point) => {
    weight += (1 - weight) / count;
    sum += (point.y - sum) / count;
    return { ...point, y: sum / weight };
  });
}

/// Makes points of a curve's numbers.
function curve_of({ name, noisy, xs, ys, times, errors }) {
  const points = xs.map((x, n) => ({
    begins: n === 0 || xs[n - 1] === null, x, y: ys[n], time: times?.[n], error: errors?.[n] ?? 0,
  }));
  return { name, noisy, points: points.filter(({ x }) => x !== null) };
}

/// The numbers of points, without what a view of them does not show.
function numbers_of({ name, points }) {
  const values = (key) => points.flatMap((point, n) => point.begins && n > 0 ? [null, point[key]] : [point[key]]);
  return { name, xs: values('x'), ys: values('y') };
}

/// A path through points. Where `side` is 1 or -1, along the end of their errors.
const path_of = (points, x, y, side = 0) => points.map((point, n) => (point.begins || n === 0 ? 'M' : ' ') +
  coordinates(x.share(point.x), y.share(bounded(point.y + side * point.error)))).join('');

function band_of(points, x, y) {
  const starts = points.flatMap(({ begins }, n) => begins || n === 0 ? [n] : []);
  return starts.map((start, n) => {
    const piece = points.slice(start, starts[n + 1]).map((point) => ({ ...point, begins: false }));
    return `${path_of(piece, x, y, 1)} ${path_of([...piece].reverse(), x, y, -1).slice(1)}Z`;
  }).join('');
}

/// Reads a chart, and draws it by a view.
export class ChartReader {
  #drawn;   // as the library drew it
  #numbers; // what it wrote of that
  #all;     // its curves
  #x;       // the scales that show
  #y;
  #ends;    // the least and the greatest x of the curves
  #title;

  constructor(svg) {
    this.svg = svg;
    this.logarithmic = svg.dataset.logarithmic !== undefined;
    this.#numbers = JSON.parse(svg.querySelector('metadata').textContent);
    this.#all = this.#numbers.curves.map(curve_of);
    this.title = svg.dataset.x || 'x';
    this.#show_whole();
  }

  draw(view) {
    this.#drawn ??= this.svg.cloneNode(true);
    const fresh = this.#drawn.cloneNode(true);
    this.svg.setAttribute('style', fresh.getAttribute('style'));
    this.svg.classList.remove('in-part');
    this.svg.toggleAttribute('data-logarithmic', this.logarithmic || view.log_x);
    this.svg.toggleAttribute('data-logarithmic-y', view.log_y);
    this.svg.replaceChildren(...fresh.childNodes);
    this.#show_whole();
    if (JSON.stringify(view) !== JSON.stringify(whole)) this.#redraw(view);
    this.#take_places();
  }

  #show_whole() {
    this.#x = new Scale(...this.#numbers.x, this.logarithmic);
    this.#y = new Scale(...this.#numbers.y, false);
    this.curves = this.#all;
    this.#title = this.title;
    this.#take_places();
  }

  /// The ends of the curves, and the places where one that has a name has a point.
  #take_places() {
    const all = this.curves.flatMap(({ points }) => points.map(({ x }) => x));
    this.#ends = ends_of(all);
    this.named = this.curves.filter(({ name }) => name !== undefined);
    this.places = [...new Set(this.named.flatMap(({ points }) => points.map(({ x }) => x)))].sort((a, b) => a - b);
  }

  #redraw(view) {
    const log_x = this.logarithmic || view.log_x;
    const can_show = ({ x, y, error }) =>
      Number.isFinite(x) && (!log_x || x > 0) && (!view.log_y || y - error > 0);
    const raw = this.#all.map((curve) => ({
      ...curve, points: curve.points.map((point) => ({ ...point, x: view.time ? point.time : point.x })).filter(can_show),
    }));
    this.curves = raw.map((curve) =>
      view.smoothing && curve.noisy ? { ...curve, points: smoothed(curve.points, view.smoothing) } : curve);
    const all_x = raw.flatMap(({ points }) => points.map(({ x }) => x));
    const all = around(all_x, log_x, 0);
    const has_part =
      view.low !== null && view.low < all.high && view.high > all.low && !are_one(view.low, view.high);
    const x = this.#x = has_part ? new Scale(view.low, view.high, log_x) : all;
    const seen = [...raw, ...this.curves].flatMap(({ points }) => points.filter((point) => x.has(point.x)));
    const y = this.#y = around(
      seen.flatMap((point) => [point.y - point.error, point.y + point.error]), view.log_y, room);
    this.#title = view.time ? this.svg.dataset.time : this.title;
    this.svg.classList.toggle('in-part', has_part);
    this.svg.querySelector('metadata').textContent = JSON.stringify(
      { x: [x.low, x.high], y: [y.low, y.high], curves: this.curves.map(numbers_of) });
    this.#draw_curves(raw, x, y);
    this.#draw_dots(x, y);
    this.#draw_ticks(x, y);
    for (const mark of this.svg.querySelectorAll('.at')) {
      const value = Number(mark.dataset.x);
      if (view.time || !x.has(value)) mark.remove();
      else mark.setAttribute('x', percent(x.share(value)));
    }
    const title = this.svg.querySelector('.x-title');
    if (title) title.textContent = this.#title;
  }

  #draw_curves(raw, x, y) {
    for (const [n, path] of [...this.svg.querySelectorAll('.curve')].entries()) {
      const { points } = this.curves[n];
      if (path.previousElementSibling?.classList.contains('band'))
        path.previousElementSibling.setAttribute('d', band_of(points, x, y));
      if (this.curves[n] !== raw[n]) {  // a smooth curve stands on what it was made of
        const behind = path.cloneNode();
        delete behind.dataset.name;
        behind.classList.replace('curve', 'behind');
        behind.setAttribute('d', path_of(raw[n].points, x, y));
        path.before(behind);
        path.classList.remove('pale');
      }
      path.setAttribute('d', path_of(points, x, y));
    }
  }

  #draw_dots(x, y) {
    for (const dot of this.svg.querySelectorAll('.dot')) dot.remove();
    for (const [n, path] of [...this.svg.querySelectorAll('.curve')].entries()) {
      if (!path.classList.contains('dotted')) continue;
      const color = path.getAttribute('class').match(/c\d( dashed)?/)[0];
      for (const point of this.curves[n].points)
        if (x.has(point.x))
          this.plane.append(svg_element('circle', {
            class: `dot ${color}`, cx: percent(x.share(point.x)), cy: percent(1 - y.share(point.y)), r: 2.2,
          }));
    }
  }

  #draw_ticks(x, y) {
    const frame = this.frame.getBoundingClientRect();
    const width = frame.width || usual_width, height = frame.height || usual_width;
    const words = [], ticks = this.svg.querySelector('.ticks');
    ticks.replaceChildren();
    const add = (line, text, value) => {
      words.push(String(value));
      ticks.append(svg_element('line', { class: 'grid', ...line }), svg_element('text', text, words.at(-1)));
    };
    for (const value of x.ticks(width / 65, 34 / width)) {
      const at = percent(x.share(value));
      add({ x1: at, y1: 0, x2: at, y2: '100%' }, { x: at, y: '100%', dy: 18, 'text-anchor': 'middle' }, value);
    }
    words.length = 0;
    for (const value of y.ticks(height / 40, 14 / height)) {
      const at = percent(1 - y.share(value));
      add({ x1: 0, y1: at, x2: '100%', y2: at }, { x: -7, y: at, dy: 4, 'text-anchor': 'end' }, value);
    }
    const left = Math.ceil(letter * Math.max(5, ...words.map(({ length }) => length))) + beside_ticks;
    this.svg.style.paddingLeft = `${left}px`;
    this.svg.querySelector('.y-title')?.setAttribute('x', 4 - left);
  }

  /// All curves as they were drawn, whatever shows of them.
  get all_curves() { return this.#all; }

  get plane() { return this.svg.querySelector('.plane'); }
  get frame() { return this.svg.querySelector('.frame'); }

  first() { return this.places.findLastIndex((place) => this.#x.has(place)); }
  keep(n) { return within(n, this.places.length); }

  /// The share of the frame's width up to the cursor.
  share_under({ clientX }) {
    const box = this.frame.getBoundingClientRect();
    return Math.min(Math.max((clientX - box.left) / box.width, 0), 1);
  }

  /// The place that is nearest to the cursor.
  under(event) { return this.nearest(this.#x.at(this.share_under(event))); }

  nearest(value) {
    const far = (n) => Math.abs(this.#x.share(this.places[n]) - this.#x.share(value));
    return this.places.reduce((best, _, n) => far(n) < far(best) ? n : best, 0);
  }

  step(n, key) {
    const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -20, PageDown: 20, Home: -Infinity, End: Infinity }[key];
    return step && this.keep(n + step);
  }

  /// The part between two shares of what shows, moved to where the curves are; all of them have no ends.
  part(from, to) {
    const [first, last] = this.#ends.map((place) => this.#x.share(place));
    if (to - from >= last - first - 1e-6) return { low: null, high: null };
    const begin = Math.min(Math.max(from, first), last - (to - from));
    return { low: this.#x.at(begin), high: this.#x.at(begin + to - from) };
  }
  /// The share of the width before a place.
  share(n) { return this.#x.share(this.places[n]); }

  /// Marks the part that is chosen with the cursor.
  mark(from, to) {
    this.svg.querySelector('.chosen')?.remove();
    this.plane.append(svg_element('rect', {
      class: 'chosen', x: percent(Math.min(from, to)), width: percent(Math.abs(to - from)), height: '100%',
    }));
  }

  cursor(n) {
    const x = percent(this.share(n));
    return [this.plane, svg_element('line', { class: 'cursor', x1: x, x2: x, y1: 0, y2: '100%' })];
  }

  /// The legend, with the values at a place: the last of each curve up to there.
  say(n, output) {
    output.querySelector('b')?.remove();
    [...output.querySelectorAll('span')].forEach((entry, at) => {
      const { name, points } = this.named[at], point = points.findLast(({ x }) => x <= this.places[n]);
      const error = point?.error ? ` ± ${Number(point.error.toPrecision(2))}` : '';
      entry.textContent = n === null ? name : `${name} ${digits(point?.y, this.#y.digits)}${error}`;
    });
    if (n === null) return;
    const at = document.createElement('b');
    const place = this.places[n];
    at.textContent = `${this.#title} ${Number.isInteger(place) ? place : digits(place, this.#x.digits)}:`;
    output.prepend(at);
  }
}
