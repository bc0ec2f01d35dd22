// <cell-field>: cells on a grid, each with a text and a colour. When another picture has cells of the same
// keys, these go to their new places; in <shift-figure> they move there. A sentence about a cell shows under the cursor, and, when the field
// has the keyboard's focus, under the arrow keys.
//
//     field.show({
//       label: 'the padded matrix',              // what a screen reader says
//       row_names: ['q₀'], column_names: ['k₀'], // headings, optional
//       rows: 3, columns: 6,                     // how many to leave room for, where there are fewer
//       cells: [{ key: 7, row: 0, column: 1, text: 'q₀r₂', color: 0, kind: 'wrapped', say: 'q₀·r₂ lies …' }],
//     });
//
// An event "press" with detail {key} tells that a cell was clicked on, or Enter or the space bar pressed there.
//
// `color` counts the colours of book.css, --cell-0 and so on; without it a cell is grey. `kind` is a class
// or several: plain, padding, wrapped, covered, weak. `rule_before: true` draws a line on the cell's left.

const widest = 46;        // pixels of a cell
const least_labelled = 24;
const heading_share = 0.7;
const meanings = { q: 'query', k: 'key', m: 'memory' };  // of headings, by their first letter

export class CellField extends HTMLElement {
  #shown = null;
  #cells = new Map();
  #current = null;
  #width = 0;
  #size = new ResizeObserver(() => this.#resize());

  connectedCallback() {
    if (!this.firstChild) {
      this.innerHTML = `<div class="field-plane" tabindex="0" role="application"
        aria-roledescription="grid of cells" aria-label="Cells"></div>
        <output class="field-value"></output>`;
      this.#plane.addEventListener('pointerover', (event) => this.#point(event.target.closest('.field-cell')));
      this.#plane.addEventListener('pointerdown', (event) => this.#point(event.target.closest('.field-cell')));
      this.#plane.addEventListener('click', (event) => this.#press(event.target.closest('.field-cell')?.dataset.key));
      this.#plane.addEventListener('focus', () => this.#choose(this.#current ?? this.#shown?.cells[0]?.key));
      this.#plane.addEventListener('keydown', (event) => this.#key(event));
    }
    this.#size.observe(this);
    if (this.#shown) this.#draw();
  }

  disconnectedCallback() { this.#size.disconnect(); }

  show(picture) {
    this.#shown = picture;
    if (this.isConnected) this.#draw();
  }

  get #plane() { return this.querySelector('.field-plane'); }

  /// Cells go to their places at once when it is the page that moves.
  #resize() {
    if (this.clientWidth === this.#width) return;
    this.classList.add('still');
    this.#place(this.clientWidth);
  }

  #draw() {
    this.classList.remove('still');
    // Asked for later, the browser would first place the new cells, and they would move from there.
    const width = this.clientWidth;
    const { cells, label, row_names = [], column_names = [] } = this.#shown;
    this.#plane.setAttribute('aria-label', `${label}. The arrow keys read a cell.`);
    const wanted = new Map(cells.map((cell) => [String(cell.key), cell]));
    row_names.forEach((text, row) => wanted.set(`row ${row}`, { row, column: -1, text, heading: true }));
    column_names.forEach((text, column) => wanted.set(`column ${column}`, { row: -1, column, text, heading: true }));
    for (const [key, { element }] of this.#cells)
      if (!wanted.has(key)) {
        element.remove();
        this.#cells.delete(key);
      }
    for (const [key, cell] of wanted) {
      const element = this.#cells.get(key)?.element ?? this.#new_cell(key);
      element.textContent = cell.text;
      Object.assign(element.dataset, { row: cell.row, column: cell.column });
      element.className = cell.heading ? `field-heading means-${meanings[cell.text[0]] ?? 'nothing'}` : `field-cell ${cell.kind ?? ''}`;
      element.classList.toggle('after-rule', Boolean(cell.rule_before));
      element.style.setProperty('--cell', cell.color === undefined ? 'var(--panel)' : `var(--cell-${cell.color})`);
      this.#cells.set(key, { element, cell });
    }
    this.#place(width);
    if (!wanted.has(this.#current)) this.#current = null;
    this.#choose(this.#current);
  }

  #new_cell(key) {
    const element = document.createElement('div');
    element.dataset.key = key;
    this.#plane.append(element);
    return element;
  }

  /// Puts each cell where it belongs in a field so wide.
  #place(width) {
    this.#width = width;
    if (!this.#shown || width === 0) return;
    const { cells, row_names, column_names } = this.#shown;
    const left = row_names ? 1 : 0, top = column_names ? heading_share : 0;
    const columns = Math.max(this.#shown.columns ?? 0, ...cells.map(({ column }) => column + 1)) + left;
    const rows = Math.max(this.#shown.rows ?? 0, ...cells.map(({ row }) => row + 1)) + top;
    const size = Math.min(widest, (width - 4) / columns);
    const middle = Math.max(0, (width - 4 - columns * size) / 2);
    this.style.setProperty('--cell-size', `${size}px`);
    this.classList.toggle('unlabelled', size < least_labelled);
    this.#plane.style.height = `${rows * size + 4}px`;
    for (const { element, cell } of this.#cells.values()) {
      const x = middle + (cell.column + left) * size, y = cell.row < 0 ? 0 : (cell.row + top) * size;
      element.style.transform = `translate(${x.toFixed(2)}px, ${y.toFixed(2)}px)`;
    }
  }

  #point(element) {
    if (element) this.#choose(element.dataset.key);
  }

  #press(key) {
    if (key !== undefined) this.dispatchEvent(new CustomEvent('press', { bubbles: true, detail: { key } }));
  }

  #key(event) {
    if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault();
      this.#press(this.#current ?? undefined);
    }
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    const from = this.#cells.get(String(this.#current))?.cell;
    if (!step || !from) return;
    event.preventDefault();
    const { cells } = this.#shown;
    const next = cells.find(({ row, column }) => row === from.row + step[0] && column === from.column + step[1]);
    if (next) this.#choose(next.key);
  }

  /// Marks a cell and says what it is.
  #choose(key) {
    this.#current = key === null || key === undefined ? null : String(key);
    for (const [name, { element }] of this.#cells) element.classList.toggle('current', name === this.#current);
    const cell = this.#cells.get(this.#current)?.cell;
    this.querySelector('.field-value').textContent = cell?.say ?? '';
  }
}

customElements.define('cell-field', CellField);
