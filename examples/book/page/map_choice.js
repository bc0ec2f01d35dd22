// <map-choice>: small maps side by side, of which one is chosen, to be shown large.
//
//     choice.show(['head 0', …], 'head 1', [[[0.5, null], [0.1, 0.9]], …]);  // names, the one chosen, rows of each
//
// An event "choose" with detail NAME tells that another one was chosen.

import { ask } from 'book/library.js';

const width = 92;  // pixels of a map

customElements.define('map-choice', class extends HTMLElement {
  #asked = 0;

  connectedCallback() {
    this.setAttribute('role', 'group');
    this.addEventListener('click', ({ target }) => {
      const name = target.closest('button')?.dataset.map;
      if (name === undefined) return;
      this.#mark(name);
      this.dispatchEvent(new CustomEvent('choose', { detail: name }));
    });
  }

  async show(names, chosen, maps) {
    const asked = ++this.#asked;
    const drawn = await Promise.all(maps.map((values) => ask({ do: 'draw', width, map: { values, limit: 1, bar: false } })));
    if (asked !== this.#asked) return;
    while (this.children.length > names.length) this.lastChild.remove();
    while (this.children.length < names.length) this.append(document.createElement('button'));
    names.forEach((name, n) => {
      const button = this.children[n];
      const svg = Object.assign(document.createElement('template'), { innerHTML: drawn[n].html }).content.querySelector('svg');
      svg.querySelector('metadata').remove();
      svg.setAttribute('aria-hidden', 'true');
      Object.assign(button, { type: 'button' }).dataset.map = name;
      button.replaceChildren(svg, name);
    });
    this.#mark(chosen);
  }

  #mark(chosen) {
    for (const button of this.children) button.setAttribute('aria-pressed', String(button.dataset.map === chosen));
  }
});
