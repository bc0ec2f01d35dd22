// <storage-figure view="slice">: where the elements of a view lie, and where their gradients go. The library
// applies the operations and runs back from the gradient 1, 2, 3, … of the result.

import { attempt, attribute } from 'book/elements.js';
import { ask } from 'book/library.js';
import 'book/cell_field.js';

const views = {
  slice: { title: 'slice: elements 2 to 4', shape: [6], steps: [['slice', 0, 2, 5]] },
  reverse: { title: 'reverse: from the end', shape: [6], steps: [['reverse', 0]] },
  transpose: { title: 'permute: rows become columns', shape: [2, 3], steps: [['permute', [1, 0]]] },
  column: { title: 'slice: the middle column', shape: [3, 3], steps: [['slice', 1, 1, 2]] },
  expand: { title: 'expand: one row, shown three times', shape: [4], steps: [['expand', [3, 4]]] },
  rel_shift: { title: 'rel_shift_view: the padded matrix, read in rows of 3', shape: [3, 4], steps: [['rel_shift_view']] },
  chain: { title: 'permute, slice, reverse: one after the other', shape: [3, 4],
    steps: [['permute', [1, 0]], ['slice', 0, 1, 3], ['reverse', 1]] },
  copy: { title: 'permute, then contiguous: a copy', shape: [2, 3], steps: [['permute', [1, 0]], ['contiguous']] },
};

class StorageFigure extends HTMLElement {
  #asked = 0;

  connectedCallback() {
    if (this.firstChild) return;
    this.innerHTML = `
      <div class="controls"><label>View <select name="view">${Object.entries(views).map(([name, { title }]) =>
        `<option value="${name}">${title}</option>`).join('')}</select></label></div>
      <p class="field-title">The view</p><cell-field class="view"></cell-field>
      <p class="field-title">The buffer of values</p><cell-field class="values"></cell-field>
      <p class="field-title">The buffer of gradients</p><cell-field class="gradient"></cell-field>
      <p class="key"></p>
      <p role="alert" hidden></p>`;
    const select = this.querySelector('select');
    select.value = attribute(this, 'view', Object.keys(views));
    select.addEventListener('input', () => this.#compute());
    this.#compute();
  }

  async #compute() {
    const { shape, steps } = views[this.querySelector('select').value], asked = ++this.#asked;
    const tensor = numbered(shape, 10);
    await attempt(this, async () => {
      const result = (await ask({ do: 'views', tensor, steps })).views.at(-1);
      const answer = await ask({ do: 'views', tensor, steps, grad_output: numbered(result.shape, 1) });
      if (asked !== this.#asked) return;
      this.#draw(answer.views);
    });
  }

  #draw(all) {
    const first = all[0], view = all.at(-1), copied = view.storage > 0;
    const columns = view.shape.at(-1);
    // Each address that the view shows has a colour.
    const shown = copied ? first.positions : [...new Set(view.positions)].sort((a, b) => a - b);
    const color = (address) => shown.includes(address) ? shown.indexOf(address) : undefined;
    const show = (name, label, cells) => this.querySelector(`.${name}`).show({ label, cells });
    show('view', `The view, shape ${view.shape.join(' by ')}`, view.values.map((value, n) => ({
      key: n, row: Math.floor(n / columns), column: n % columns, text: value,
      color: copied ? undefined : color(view.positions[n]), kind: 'plain',
      say: `${value} is at address ${view.positions[n]} of ${copied ? 'a buffer of its own' : 'the buffer'}. ` +
        `Its gradient is ${n + 1}.`,
    })));
    const line = (cell) => first.values.map((_, address) => ({ key: address, row: 0, column: address, ...cell(address) }));
    show('values', 'The buffer of values', line((address) => ({
      text: first.values[address], color: color(address), kind: 'plain',
      say: `Address ${address} holds ${first.values[address]}.${shown.includes(address) ? '' : ' The view leaves it out.'}`,
    })));
    show('gradient', 'The buffer of gradients', line((address) => {
      const parts = copied ? [] : view.positions.flatMap((at, n) => at === address ? [n + 1] : []);
      return {
        text: first.gradient[address], color: color(address), kind: 'plain',
        say: `The gradient at address ${address} is ${first.gradient[address]}${parts.length > 1 ? ` = ${parts.join(' + ')}` : ''}.`,
      };
    }));
    this.querySelector('.key').textContent = `Shape [${view.shape.join(', ')}], strides ` +
      `[${view.strides.join(', ')}], offset ${view.offset}. The tape has ${view.recorded} ` +
      `${view.recorded === 1 ? 'entry' : 'entries'}.`;
  }
}

/// A tensor of the numbers from `begin` on.
function numbered(shape, begin) {
  const size = shape.reduce((product, n) => product * n, 1);
  return { shape, values: Array.from({ length: size }, (_, n) => begin + n) };
}

customElements.define('storage-figure', StorageFigure);
