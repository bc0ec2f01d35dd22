// What the stills of relative.html are made of (make/beats.js): cells, labels, arcs, and how they come when the page
// moves. What moves has a class of page/beats.css, which says how, and its turn; where nothing moves, it is there.

const escape = require('markdown-it')().utils.escapeHtml;

const width = 360, height = 306;
const left = 52, step = 51, cell_width = 48;  // of the column of a word

const x_of = (column) => left + step * column;
const middle_of = (column) => x_of(column) + cell_width / 2;

/// A number as one reads it.
const written = (value) => String(value).replace('-', '−');

/// Becomes visible in its turn.
const appears = (turn, drawn) => `<g class="appears" style="--turn: ${turn}">${drawn}</g>`;

/// Moves to its place from so far away, in its turn.
const comes = ([x, y], drawn, turn = 0) =>
  `<g class="comes" style="--turn: ${turn}; --x: ${Math.round(x)}px; --y: ${Math.round(y)}px">${drawn}</g>`;

/// The same, and hidden before its turn.
const slides = (from, drawn, turn) => comes(from, drawn, turn).replace('comes', 'comes slides');

/// A text around a point. A number has a name, which means the same number in all stills, and may be one of the
/// library's runs, which the page then asks for it: its name ends with the channel of the output.
function text(x, y, words, { kind = '', number, run } = {}) {
  const named = number === undefined ? '' : ` data-number="${number}"`;
  const computed = run === undefined ? '' : ` data-run="${run}"`;
  return `<text class="${kind}" x="${x}" y="${y}"${named}${computed}>${escape(words)}</text>`;
}

/// A text on the left of a row.
const label = (y, words, kind = '') => text(left - 6, y, words, { kind: `label ${kind}` });

/// A cell with a text in its middle. `strength`, up to 1, is how dark it is.
function cell(x, y, words, { kind = '', high = 28, wide = cell_width, strength, number, run } = {}) {
  const dark = strength === undefined ? '' : ` style="--strength: ${(100 * strength).toFixed(0)}%"`;
  return `<g class="cell ${kind}"${dark}><rect x="${x}" y="${y}" width="${wide}" height="${high}"/>` +
    `${text(x + wide / 2, y + high / 2, words, { number, run })}</g>`;
}

/// A bracket below two columns.
const bracket = (from, to, y) => `<path class="line" d="M${middle_of(from)} ${y} v12 H${middle_of(to)} v-12"/>`;

/// A bracket from one x to another, above what it spans or below it.
const span = (from, to) => (y, high) =>
  `<path class="line" d="M${from.toFixed(1)} ${y} v${high} H${to.toFixed(1)} v${-high}"/>`;

/// A line across columns.
const rule = (y, last) => `<path class="line" d="M${left} ${y} H${x_of(last) + cell_width}"/>`;

/// An arc that hangs below two columns.
function arc(from, to, depth, kind, thick) {
  const begin = middle_of(from), end = middle_of(to), y = 38;
  return `<path class="arc ${kind}" style="stroke-width: ${thick}" ` +
    `d="M${begin} ${y} A${(begin - end) / 2} ${depth} 0 0 1 ${end} ${y}"/>`;
}

const still = (description, drawn) =>
  `<svg class="still" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escape(description)}">${drawn}</svg>`;

module.exports = { appears, arc, bracket, cell, cell_width, comes, height, label, left, middle_of, rule, slides, span, step,
                   still, text, width, written, x_of };
