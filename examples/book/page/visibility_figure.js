// <visibility-figure kind="causal" t="6" m="0">: which tokens each token sees. The library runs the layer
// once for each token, with that token changed; who sees it, changes with it.
//
// The attribute `kinds` keeps the choice to some, as in kinds="causal two_way", and each slider's name is an
// attribute for its start.

import { attempt, attribute, in_a_cell, precise, slider } from 'book/elements.js';
import { ask } from 'book/library.js';
import 'book/cell_field.js';
import { kinds, who_sees_whom } from 'book/visibility_kinds.js';
import { below } from 'book/subscripts.js';

const most_queries = 8, most_memory = 6;

class VisibilityFigure extends HTMLElement {
  #asked = 0;

  connectedCallback() {
    if (this.firstChild) return;
    const names = this.getAttribute('kinds')?.split(' ') ?? Object.keys(kinds);
    this.innerHTML = `
      <div class="controls">
        <label>Layer <select name="kind">${names.map((name) => `<option value="${name}">${kinds[name].title}</option>`).join('')}</select></label>
        ${slider({ name: 't', title: 'T new', least: 1, most: most_queries })}
        ${slider({ name: 'm', title: 'M remembered', most: most_memory })}
        <span class="own"></span>
        <label><input type="checkbox" name="numbers"> Numbers</label>
        <input type="hidden" name="masked">
      </div>
      <cell-field></cell-field>
      <p class="key"></p>
      <p role="alert" hidden></p>`;
    this.#input('kind').value = attribute(this, 'kind', names);
    this.#input('t').value = this.getAttribute('t') ?? 6;
    this.#input('m').value = this.getAttribute('m') ?? this.#kind.remembered ?? 0;
    this.#input('kind').addEventListener('input', () => this.#choose_kind());
    this.addEventListener('input', () => this.#compute());
    this.addEventListener('press', ({ detail }) => this.#toggle(detail.key));
    this.#own_sliders();
    this.#compute();
  }

  #input(name) { return this.querySelector(`[name="${name}"]:not(output)`); }
  get #kind() { return kinds[this.#input('kind').value]; }

  #choose_kind() {
    this.#input('m').value = this.#kind.remembered ?? this.#input('m').value;
    this.#own_sliders();
  }

  /// The cells "i j" of a mask of one's own.
  get #masked() { return new Set(this.#input('masked').value.split(',')); }

  #toggle(cell) {
    if (!this.#kind.masked_by_hand) return;
    const masked = this.#masked;
    if (!masked.delete(cell)) masked.add(cell);
    this.#input('masked').value = [...masked].filter(Boolean).join();
    this.#compute();
  }

  /// The sliders of this kind, with the values that they had.
  #own_sliders() {
    const own = this.querySelector('.own');
    const before = Object.fromEntries([...own.querySelectorAll('input')].map(({ name, value }) => [name, value]));
    own.innerHTML = this.#kind.sliders.map(slider).join('');
    for (const { name, start } of this.#kind.sliders)
      this.#input(name).value = before[name] ?? this.getAttribute(name.replaceAll('_', '-')) ?? start;
  }

  #sizes() {
    const sizes = { padding: 0 };
    for (const input of this.querySelectorAll('input[type=range]')) {
      this.querySelector(`output[name="${input.name}"]`).textContent = input.value;
      sizes[input.name.length === 1 ? input.name.toUpperCase() : input.name] = Number(input.value);
    }
    sizes.K = sizes.M + sizes.T;
    sizes.padding = Math.min(sizes.padding, sizes.K);
    if (this.#kind.masked_by_hand) sizes.masked = this.#masked;
    return sizes;
  }

  async #compute() {
    const kind = this.#kind, sizes = this.#sizes(), asked = ++this.#asked;
    await attempt(this, async () => {
      const [moves, marks] = await Promise.all([who_sees_whom(ask, kind, sizes), kind.marks?.(ask, kind, sizes)]);
      if (asked !== this.#asked) return;
      this.#draw(kind, sizes, moves, marks);
    });
  }

  #draw({ title, mark_name, masked_by_hand }, { T, M, K }, moves, marks) {
    const numbers = this.#input('numbers').checked;
    this.classList.toggle('to-press', Boolean(masked_by_hand));
    const cells = [];
    const every = [...new Set(marks?.flat().filter((_, n) => moves[Math.floor(n / K)][n % K] > 0))].sort().reverse();
    for (let i = 0; i < T; ++i)
      for (let j = 0; j < K; ++j) {
        const mark = marks?.[i][j], moved = moves[i][j], sees = moved > 0;
        cells.push({
          key: `${i} ${j}`, row: i, column: j, rule_before: M > 0 && j === M,
          text: !sees ? '' : numbers ? in_a_cell(moved) : marks ? mark : '',
          color: sees ? marks ? every.indexOf(mark) : 0 : undefined,
          kind: sees ? mark === '' ? 'weak' : 'plain' : 'covered',
          say: `Token ${M + i} ${sees ? 'sees' : 'does not see'} token ${j}, at distance ${M + i - j}` +
            `${sees && marks ? mark_name(mark) : ''}.${numbers && sees ? ` Its answer moves by ${precise(moved)}.` : ''}`,
        });
      }
    this.querySelector('cell-field').show({
      label: `${title}: ${T} queries in rows, ${K} keys in columns`,
      cells,
      row_names: Array.from({ length: T }, (_, i) => `q${below(i)}`),
      column_names: Array.from({ length: K }, (_, j) => j < M ? `m${below(j)}` : `k${below(j)}`),
    });
    const pairs = moves.flat().filter((moved) => moved > 0).length;
    this.querySelector('.key').textContent = `In ${pairs} of ${T * K} pairs, the query sees the key.` +
      (numbers ? ' Add 1 to each channel of a token: a number says how far the answer moves, in the channel that moves most.' : '') +
      (masked_by_hand ? ' Press a cell, or Enter there, to mask it or to take the mask away.' : '');
  }
}

customElements.define('visibility-figure', VisibilityFigure);
