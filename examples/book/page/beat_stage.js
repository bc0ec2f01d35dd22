// <beat-stage>: pictures and their texts in turn: <figure>, <section>, <figure>, <section>, …. The text that is read
// chooses the picture on the stage, whose motion page/beats.css plays. The arrow keys and the space bar go to the next
// text or back, and the address names it. `runs` has two requests, in one pass and behind a memory; the
// library's weights and mean take the place of those that the book was made with.

import { fixed } from 'book/elements.js';
import { ask } from 'book/library.js';

const read_above = 0.7;  // the part of the window's height where the next text begins to count
const steps = { ArrowDown: 1, ArrowRight: 1, ' ': 1, ArrowUp: -1, ArrowLeft: -1 };

class BeatStage extends HTMLElement {
  #read_last = null;

  connectedCallback() {
    addEventListener('scroll', this.#read, { passive: true });
    addEventListener('resize', this.#read);
    addEventListener('keydown', this.#key);
    this.addEventListener('focusin', this.#come);
    document.getElementById(location.hash.slice(1))?.scrollIntoView();  // the stage has moved it
    this.#read();
    this.#compute();
  }

  disconnectedCallback() {
    for (const [name, action] of Object.entries({ scroll: this.#read, resize: this.#read, keydown: this.#key }))
      removeEventListener(name, action);
  }

  get #texts() { return [...this.querySelectorAll(':scope > section')]; }

  /// Shows the picture of the text that has come up last, and the first one above all texts.
  #read = () => {
    const read = this.#texts.findLastIndex((text) => text.getBoundingClientRect().top < innerHeight * read_above);
    if (read === this.#read_last) return;
    const shown = Math.max(read, 0);
    this.querySelectorAll(':scope > figure').forEach((figure, n) => figure.classList.toggle('current', n === shown));
    if (this.#read_last !== null && read >= 0)
      history.replaceState(null, '', `#${this.#texts[read].querySelector('h2').id}`);
    this.#read_last = read;
  };

  #key = (event) => {
    const { key, target, shiftKey, defaultPrevented } = event;
    if (defaultPrevented || event.altKey || event.ctrlKey || event.metaKey || !Object.hasOwn(steps, key)) return;
    if (target.closest('button, input, select, textarea, summary, [role=group]')) return;
    const step = key === ' ' && shiftKey ? -1 : steps[key];
    const texts = this.#texts, next = texts[this.#read_last + step];
    const goes_on = step > 0 && texts[this.#read_last]?.lastElementChild.getBoundingClientRect().bottom > innerHeight;
    if (!next || goes_on) return;  // the page scrolls
    event.preventDefault();
    next.focus({ preventScroll: true });
  };

  /// Brings a text that the keyboard comes to into its place.
  #come = ({ target }) => {
    if (target.localName === 'section' && target.matches(':focus-visible')) target.querySelector('h2').scrollIntoView();
  };

  async #compute() {
    const answers = await Promise.all(JSON.parse(this.getAttribute('runs')).map(ask));
    for (const place of this.querySelectorAll('[data-run]')) {
      const { shape: [, queries, channels], values } = answers[place.dataset.run].tensors.output;
      const channel = Number(place.dataset.number.split(' ').at(-1));
      place.textContent = fixed(values[(queries - 1) * channels + channel]);
    }
  }
}

customElements.define('beat-stage', BeatStage);
