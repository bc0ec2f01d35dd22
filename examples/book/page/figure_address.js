// The address of a figure: its id, and its controls as they are.
//
//     shift.html#shift-figure?way=two_way&t=4&m=2&k=6&step=3
//
// An address restores these controls and shows the figure. A control is an input, a select or a textarea with a name.
// It counts where it shows; a hidden input counts always, and has what a figure keeps that is no control.

let restoring = false;
let observer = null;  // of a figure whose controls are not all there yet

const shows = (control) => control.type === 'hidden' ||
  (control.checkVisibility?.() ?? control.getClientRects().length > 0);  // of before 2024
const controls_of = (figure) => [...figure.querySelectorAll(':is(input, select, textarea)[name]')].filter(shows);

const value_of = (control) => control.type === 'checkbox' ? String(Number(control.checked)) : control.value;

function put(control, value) {
  if (control.type === 'checkbox') control.checked = value === '1';
  else control.value = value;
}

/// Gives a control a value, as a reader does. Returns whether it takes it: a select may lack the option so far, and a
/// number may be too large so far.
function take(control, value) {
  const before = value_of(control);
  if (value === before) return true;
  if (control.maxLength >= 0 && value.length > control.maxLength) return false;
  put(control, value);
  if (value_of(control) !== value || !control.validity.valid) {
    put(control, before);
    return false;
  }
  restoring = true;
  for (const event of ['input', 'change']) control.dispatchEvent(new Event(event, { bubbles: true }));
  restoring = false;
  return true;
}

/// The fragment of a figure's address.
export function address_of(figure) {
  const values = controls_of(figure).filter(({ type, value }) => type !== 'hidden' || value)
    .map((control) => [control.name, value_of(control)]);
  return `#${figure.id}${values.length ? `?${new URLSearchParams(values)}` : ''}`;
}

/// Gives a figure's controls these values. Those that come later, as options do that the library names, take theirs
/// then, until the reader changes something.
function restore(figure, values) {
  const wanted = new Map(values);
  observer?.disconnect();
  const go = () => {
    for (const control of controls_of(figure))
      if (wanted.has(control.name) && take(control, wanted.get(control.name))) wanted.delete(control.name);
    if (!wanted.size) observer.disconnect();
  };
  observer = new MutationObserver(go);
  observer.observe(figure, { attributes: true, childList: true, subtree: true });
  go();
}

/// Shows the figure that the page's address names, if it names one.
function follow() {
  const [id, values] = location.hash.slice(1).split(/\?(.*)/s), figure = document.getElementById(id);
  if (!figure?.matches('main figure')) return;
  for (let folded; folded = figure.closest('details:not([open])');) folded.open = true;
  if (values) restore(figure, new URLSearchParams(values));
  figure.scrollIntoView();
}

/// Keeps the page's address that of the figure whose control the reader has changed.
function note({ target }) {
  const figure = target.closest('main figure[id]');
  if (figure && !restoring && target.name) history.replaceState(null, '', address_of(figure));
}

addEventListener('hashchange', follow);
document.addEventListener('input', () => { if (!restoring) observer?.disconnect(); });
document.addEventListener('change', note);
follow();
