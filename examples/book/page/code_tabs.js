// <code-tabs>: code in several languages, a figure for each. One is shown at a time, the same in the whole book; the
// browser remembers which. Without JavaScript, and on paper, all are there, one below the other. Buttons mark the terms
// of the score that the code has (meaning_marks.js), for those who have no mouse.

import { element } from 'book/elements.js';
import 'book/meaning_marks.js';

const key = 'code-language';
const terms = {
  'content-content': 'q·k', 'content-position': 'q·r', 'content-bias': 'u·k', 'position-bias': 'v·r',
  'position-scores': 's',
};

/// A browser may refuse to remember anything of pages from a disk.
function remembered() {
  try { return localStorage.getItem(key); } catch { return null; }
}

function remember(language) {
  try { localStorage.setItem(key, language); } catch { /* It holds for this page only. */ }
}

/// Shows a language on the whole page. What the reader looks at stays where it is.
function show(language, at) {
  const before = at?.getBoundingClientRect().top;
  for (const tabs of document.querySelectorAll('code-tabs')) tabs.show(language);
  if (at) scrollBy({ top: at.getBoundingClientRect().top - before, behavior: 'instant' });
}

customElements.define('code-tabs', class extends HTMLElement {
  connectedCallback() {
    if (this.querySelector('input')) return;
    const name = `language-${[...document.querySelectorAll('code-tabs')].indexOf(this)}`;
    const bar = element('div', '', { class: 'controls' });
    const choice = element('span', '', { role: 'radiogroup', 'aria-label': 'Language' });
    bar.append(choice);
    for (const { dataset: { language } } of this.children) {
      const label = element('label'), input = element('input', '', { type: 'radio', name, value: language });
      label.append(input, ` ${language}`);
      choice.append(label);
    }
    bar.append(...this.#buttons());
    this.prepend(bar);
    choice.addEventListener('change', ({ target }) => {
      show(target.value, this);
      remember(target.value);
    });
    this.show(remembered());
  }

  /// A button for each term, if there are several. It is called as the code calls the term: q·a for q_i·a_c.
  #buttons() {
    const found = Object.keys(terms).filter((meaning) => this.querySelector(`.means-${meaning}`));
    return found.length < 2 ? [] : found.map((meaning) => {
      const words = [...this.querySelectorAll(`.means-${meaning}`)].map(({ textContent }) => textContent);
      const name = words.find((word) => word.includes('·'))?.replace(/_(\{[^}]*\}|.)/g, '') ?? terms[meaning];
      const button = element('button', name, { type: 'button', class: `term-name means-${meaning}` });
      button.ariaPressed = 'false';
      button.ariaLabel = `Mark the term ${name}`;
      return button;
    });
  }

  /// Shows one of the languages; the first if there is no such one.
  show(language) {
    const inputs = [...this.querySelectorAll('input')];
    const chosen = inputs.find(({ value }) => value === language) ?? inputs[0];
    chosen.checked = true;
    for (const figure of this.querySelectorAll('figure')) figure.hidden = figure.dataset.language !== chosen.value;
  }
});

addEventListener('storage', (event) => { if (event.key === key) show(event.newValue); });
