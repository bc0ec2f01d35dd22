// <map-choice>: the maps of all layers and heads, small, of which one is chosen, to be shown large. In a report they
// are there already; a page of the book asks for them:
//
//     choice.show([[{ title: 'head 0', values: [[0.5, null], [0.1, 0.9]] }, …], …]);  // layers
//     choice.mark({ layer: '0', head: 'head 0' });  // the one that is shown large
//
// An event "choose" with detail {layer, head} tells that another one was chosen.

const width = 92;  // pixels of a map

customElements.define('map-choice', class extends HTMLElement {
  #asked = 0;
  #titles = '';

  connectedCallback() {
    this.setAttribute('role', 'group');
    this.addEventListener('click', ({ target }) => {
      const button = target.closest('button');
      if (button) this.dispatchEvent(new CustomEvent('choose', { bubbles: true, detail: { ...button.dataset } }));
    });
  }

  get #buttons() { return [...this.querySelectorAll('button')]; }

  async show(layers) {
    const asked = ++this.#asked, { ask } = await import('book/library.js');
    const drawn = await Promise.all(layers.flat().map(({ values }) =>
      ask({ do: 'draw', width, map: { values, limit: 1, bar: false } })));
    if (asked !== this.#asked) return;
    this.#make(layers.map((heads) => heads.map(({ title }) => title)));
    this.#buttons.forEach((button, n) => {
      button.innerHTML = drawn[n].html;
      const svg = button.querySelector('svg');
      svg.querySelector('metadata').remove();
      svg.setAttribute('aria-hidden', 'true');
      button.replaceChildren(svg);
    });
  }

  /// A line of buttons for each layer. They stay, with their focus, while maps come and go.
  #make(titles) {
    if (this.#titles === JSON.stringify(titles)) return;
    this.#titles = JSON.stringify(titles);
    this.style.setProperty('--heads', Math.max(1, ...titles.map((heads) => heads.length)));
    const button = (layer, head) => `<button type="button" data-layer="${layer}" data-head="${head}"
      aria-label="layer ${layer}, ${head}"></button>`;
    this.innerHTML = titles.map((heads, layer) =>
      `<span>layer ${layer}</span>${heads.map((head) => button(layer, head)).join('')}`).join('');
  }

  /// Presses the map of these choices, of which a page may lack some.
  mark(chosen) {
    for (const button of this.#buttons)
      button.setAttribute('aria-pressed', Object.entries(button.dataset)
        .every(([name, value]) => (chosen[name] ?? value) === value));
  }
});
