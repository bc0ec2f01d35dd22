// <figure-choice>: a figure of a report, of which its selects choose the parts that show: those whose data-NAME is
// the value of each select of that NAME. A small map chooses its layer and its head. Maps of the same text read the
// same cell, and its query and its key are marked in the text below.

customElements.define('figure-choice', class extends HTMLElement {
  connectedCallback() {
    this.addEventListener('change', () => this.#show());
    this.addEventListener('click', ({ target }) => this.#choose(target.closest('.heads button')));
    this.addEventListener('cell', (event) => this.#mark(event.target, event.detail));
    this.#show();
  }

  /// Chooses what a small map shows.
  #choose(button) {
    for (const [name, value] of Object.entries(button?.dataset ?? {})) {
      const select = this.querySelector(`select[name=${name}]`);
      if (select) select.value = value;
    }
    this.#show();
  }

  #show() {
    const chosen = [...this.querySelectorAll('select')].map(({ name, value }) => [name, value]);
    for (const part of this.querySelectorAll('div[data-example], div[data-kind], div[data-layer]'))
      part.hidden = chosen.some(([name, value]) => part.dataset[name] !== undefined && part.dataset[name] !== value);
    for (const button of this.querySelectorAll('.heads button'))
      button.setAttribute('aria-pressed', String(chosen.every(([name, value]) => (button.dataset[name] ?? value) === value)));
  }

  #mark(read, cell) {
    for (const map of this.querySelectorAll('drawn-figure')) {
      if (map.names !== read.names) continue;
      if (map !== read) map.mark(cell?.row, cell?.column);
      for (const line of map.closest('.attention').querySelectorAll('.tokens'))
        [...line.children].forEach((token, at) => token.classList.toggle('marked', at === cell?.[line.dataset.axis]));
    }
  }
});
