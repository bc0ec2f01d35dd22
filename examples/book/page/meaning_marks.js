// Marks a term of the score wherever it stands when one points at it, or presses its button: in equations, in the lines
// of code that compute it, in the line at the top of a chapter, and in the numbers of a worked example's pair.

const terms = ['content-content', 'content-position', 'content-bias', 'position-bias', 'position-scores'];
const selector = `:is(.katex, pre, worked-example, code-tabs .controls, sentence-score, .where) :is(${terms.map((name) => `.means-${name}`)})`;
const meaning_of = (one) => [...one.classList].find((name) => name.startsWith('means-'));
let pressed, marked;

function mark(meaning) {
  if (meaning === marked) return;
  marked = meaning;
  for (const one of document.querySelectorAll('.marked-term')) one.classList.remove('marked-term');
  if (!meaning) return;
  for (const one of document.querySelectorAll(selector)) {
    if (meaning_of(one) !== meaning) continue;
    const cells = one.closest('caption')?.parentElement.querySelectorAll('td.of-pair') ?? [];
    for (const part of [one, one.closest('.code-line'), ...cells]) part?.classList.add('marked-term');
  }
}

function press(button) {
  pressed = pressed === meaning_of(button) ? undefined : meaning_of(button);
  for (const one of document.querySelectorAll('code-tabs button'))
    one.setAttribute('aria-pressed', String(meaning_of(one) === pressed));
  mark(pressed);
}

/// The term at which one points, or that has the focus.
const at = ({ target }) => {
  const one = target.closest?.(selector);
  return one ? meaning_of(one) : pressed;
};

for (const event of ['pointerover', 'focusin']) document.addEventListener(event, (event) => mark(at(event)));
document.addEventListener('focusout', () => mark(pressed));
document.addEventListener('click', ({ target }) => {
  const button = target.closest?.('code-tabs button');
  if (button) press(button);
});
