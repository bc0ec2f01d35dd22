// Inputs of whole numbers, in all figures. What is too large, too small or not whole becomes the nearest number that is
// none of these, before a figure hears of it. While a reader types, nothing and too little may become more, so they wait
// until the input is left; then nothing becomes what was there before.

const before = new WeakMap();  // the last number of an input

const bound = (text, otherwise) => text === '' ? otherwise : Number(text);

/// Gives an input a number that it takes. Returns whether it has one: before it is left, it may lack one.
function settle(input, is_left) {
  const { valueAsNumber: value, min, max } = input, least = bound(min, -Infinity), most = bound(max, Infinity);
  if (!(value >= least) && !is_left) return false;
  const settled = Number.isNaN(value) ? before.get(input) ?? Number(input.defaultValue) : Math.floor(value);
  const taken = Math.min(Math.max(settled, least), most);
  if (taken !== value) input.value = taken;
  before.set(input, taken);
  return true;
}

const is_number = ({ type }) => type === 'number';

document.addEventListener('focusin', ({ target }) => {
  if (is_number(target) && target.value !== '') before.set(target, target.valueAsNumber);
}, true);
document.addEventListener('input', (event) => {
  if (is_number(event.target) && !settle(event.target, false)) event.stopImmediatePropagation();
}, true);
document.addEventListener('change', ({ target }) => {
  if (!is_number(target)) return;
  const { value } = target;
  settle(target, true);
  if (target.value !== value) target.dispatchEvent(new Event('input', { bubbles: true }));
}, true);
