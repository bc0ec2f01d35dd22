// <follow-training>: reads the page anew every `seconds`, while a program writes its file anew, as long as its
// checkbox is checked. It waits while the reader uses a key or a pointer. The next page begins as this one is left:
// with what is chosen, zoomed, open and in focus. The program writes the file at each interval, so a page that has
// grown old has no program any more.

const oldest = 3600;  // seconds
const quiet = 3;      // seconds without a key or a pointer

// The last page lacks this element, so nothing of it counts, or it comes last.
const all = (kinds) => [...document.querySelectorAll(`:is(${kinds}):not(follow-training *)`)];
const controls = () => all('main select, main input');
const charts = () => all('drawn-figure').filter((one) => one.querySelector('svg.chart'));
const foldings = () => all('details');
const stops = () =>
  [...all('a, button, select, input, summary, [tabindex]'), ...document.querySelectorAll('follow-training input')];

const state = () => ({
  chosen: controls().map((one) => one.type === 'checkbox' ? one.checked : one.value),
  zoomed: charts().map(({ view: { low, high } }) => ({ low, high })),
  open: foldings().map(({ open }) => open),
  focus: stops().indexOf(document.activeElement),
  read: document.activeElement.parentElement?.place,
});

function restore({ chosen, zoomed, open, focus, read }) {
  controls().forEach((one, n) => {
    if (one.type === 'checkbox') one.checked = chosen[n] ?? one.checked;
    else one.value = chosen[n] ?? one.value;
  });
  for (const figure of document.querySelectorAll('figure-choice')) figure.dispatchEvent(new Event('input'));
  charts().forEach((one, n) => { one.view = { ...one.view, ...zoomed[n] }; });
  foldings().forEach((one, n) => { one.open = open[n] ?? one.open; });
  const focused = stops()[focus];
  focused?.focus({ preventScroll: true });
  if (read !== undefined && focused?.parentElement) focused.parentElement.place = read;
}

customElements.define('follow-training', class extends HTMLElement {
  #used = -Infinity;

  connectedCallback() {
    for (const kind of ['pointerdown', 'pointermove', 'keydown', 'change', 'wheel'])
      addEventListener(kind, () => { this.#used = performance.now(); }, { passive: true });
    setInterval(() => this.#reload(), 1000 * Number(this.getAttribute('seconds')));
  }

  #reload() {
    const checkbox = this.querySelector('input');
    if (!checkbox.checked || performance.now() - this.#used < 1000 * quiet) return;
    if (Date.now() - new Date(document.lastModified) > 1000 * oldest) {
      checkbox.checked = false;
      this.querySelector('p').textContent = 'Nothing writes this page any more.';
      return;
    }
    history.replaceState(state(), '');
    location.reload();
  }
});

if (history.state?.chosen) {
  restore(history.state);
  history.replaceState(null, '');
}
