// What figures with controls share.

const escape = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');

/// The control of a figure that has this name.
export const part = (figure, name) => figure.querySelector(`[name=${name}]`);

/// What a figure's attribute chooses of these names; the first where there is no such attribute.
export function attribute(figure, name, names) {
  const value = figure.getAttribute(name) ?? names[0];
  if (!names.includes(value))
    throw new Error(`<${figure.localName}>: ${name} is "${value}", expected ${names.join(', ')}`);
  return value;
}

/// Options of a select.
export const choices = (names) => names.map((name) => `<option>${escape(name)}</option>`).join('');

/// A slider with its value beside it.
export const slider = ({ name, title, least = 0, most, start }) => `<label>${title}
  <input type="range" name="${name}" min="${least}" max="${most}" value="${start ?? least}"><output name="${name}"></output></label> `;

/// Chooses a value of a figure's select, and gives it other options first where `names` differ from them.
/// Without a value, the select keeps what it has if that is still there.
export function choose(figure, name, value, names) {
  const select = part(figure, name);
  const before = value ?? select.value;
  const known = [...select.options].map((option) => option.value);
  if (names && names.join('\n') !== known.join('\n')) select.innerHTML = choices(names);
  if ([...select.options].some((option) => option.value === before)) select.value = before;
}

/// A loss or a score with the digits that one reads.
export const number = (value) => value === undefined ? '–' : value.toFixed(3);

/// A number with a minus as wide as a digit, and without one before 0.
export const fixed = (value, digits = 2) => value.toFixed(digits).replace(/^-(0\.?0*)$/, '$1').replace('-', '−');

/// A vector as a sentence has it.
export const in_brackets = (vector, digits) => `(${vector.map((value) => fixed(value, digits)).join(', ')})`;

/// A number from 0 on in the few digits that a cell has room for.
export const in_a_cell = (value) =>
  value === 0 ? '0' : value < 0.005 ? '<.01' : value < 0.995 ? value.toFixed(2).slice(1) : value.toFixed(1);

/// A number as a sentence has it.
export const precise = (value) => String(Number(value.toPrecision(3)));

/// A character as one can see it.
export const written = (character) => character === ' ' ? '␣' : character === '\n' ? '↵' : character;

/// A new element.
export function element(tag, text = '', attributes = {}) {
  const made = Object.assign(document.createElement(tag), { textContent: text });
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

/// Does something, while the figure is busy, and shows the error in its alert if it cannot be done.
export async function attempt(figure, action) {
  const alert = figure.querySelector('[role=alert]');
  alert.hidden = true;
  figure.ariaBusy = 'true';
  try {
    await action();
  } catch (error) {
    alert.textContent = error.message;
    alert.hidden = false;
  }
  figure.ariaBusy = 'false';
}
