// <map-choice>: the maps of all layers and heads, small, of which one is chosen, to be shown large.
//
//     choice.show([[{ title: 'head 0', values: [[0.5, null], [0.1, 0.9]] }, …], …], 0, 'head 0');  // layers, the one chosen
//
// An event "choose" with detail {layer, title} tells that another one was chosen.

import { ask } from 'book/library.js';

const width = 92;  // pixels of a map

customElements.define('map-choice', class extends HTMLElement {
  #asked = 0;

  connectedCallback() {
    this.setAttribute('role', 'group');
    this.addEventListener('click', ({ target }) => {
      const { layer, title } = target.closest('button')?.dataset ?? {};
      if (title === undefined) return;
      this.#mark(layer, title);
      this.dispatchEvent(new CustomEvent('choose', { detail: { layer, title } }));
    });
  }

  async show(layers, layer, title) {
    const asked = ++this.#asked;
    const maps = layers.flatMap((heads, n) => heads.map((head) => ({ ...head, layer: n })));
    const drawn = await Promise.all(maps.map(({ values }) => ask({ do: 'draw', width, map: { values, limit: 1, bar: false } })));
    if (asked !== this.#asked) return;
    this.style.setProperty('--heads', Math.max(1, ...layers.map((heads) => heads.length)));
    while (this.children.length > maps.length) this.lastChild.remove();
    while (this.children.length < maps.length) this.append(document.createElement('button'));
    maps.forEach((map, n) => {
      const button = this.children[n];
      const svg = Object.assign(document.createElement('template'), { innerHTML: drawn[n].html }).content.querySelector('svg');
      svg.querySelector('metadata').remove();
      svg.setAttribute('aria-hidden', 'true');
      Object.assign(button, { type: 'button' });
      Object.assign(button.dataset, { layer: map.layer, title: map.title });
      button.replaceChildren(svg, `layer ${map.layer}, ${map.title}`);
    });
    this.#mark(layer, title);
  }

  #mark(layer, title) {
    for (const button of this.children)
      button.setAttribute('aria-pressed', String(button.dataset.layer === String(layer) && button.dataset.title === title));
  }
});
