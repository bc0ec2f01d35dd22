// <model-part part="norm">: the numbers of one part of the page's tiny model, for the token that is chosen in the
// figure of the whole model. The part of AdamW has the button that makes a step.

import { attempt, fixed, part, written } from 'book/elements.js';
import { tiny } from 'book/studied_model.js';

const stages = (...names) => ({ inside, chosen }) =>
  names.map(([title, name, of]) => [title, tiny.row(name, chosen, of).map((value) => fixed(value, of ? 4 : 2))]);
const columns = (letter, width) => Array.from({ length: width }, (_, n) => `${letter}=${n}`);

/// The characters that the text has, for rows that are as long as the vocabulary.
function few(model) {
  const names = [...new Set(model.text)], places = names.map((name) => model.inside.vocabulary.indexOf(name));
  return { names: names.map(written), pick: (row, digits) => places.map((place) => fixed(row[place], digits)) };
}

/// What each part shows: {names of the columns, rows [title, values]}.
const parts = {
  tokens: ({ text, inside }) => ({
    names: [...text].map(written),
    rows: [['byte', [...new TextEncoder().encode(text)]], ['token', inside.tokens]],
  }),
  embedding: (model) => ({ names: columns('c', 8), rows: stages(['x', 'embedding'])(model) }),
  norm: (model) => ({
    names: columns('c', 8), rows: stages(['x', 'embedding'], ['norm(x)', 'blocks.0.mixer_norm'])(model),
  }),
  attention: ({ inside: { attention, losses }, text, chosen }) => ({
    names: [...text].slice(0, chosen + 1).map(written),
    rows: attention[0].map((weights, h) =>
      [`p, head ${h}`, weights.slice(chosen * losses.length, chosen * losses.length + chosen + 1).map((p) => fixed(p, 3))]),
  }),
  residual: (model) => ({
    names: columns('c', 8),
    rows: stages(['x', 'embedding'], ['attention', 'blocks.0.mixer'], ['x + attention', 'blocks.0.mixer_sum'])(model),
  }),
  feed_forward: (model) => ({
    names: columns('c', 8),
    rows: stages(['x', 'blocks.0.mixer_sum'], ['norm(x)', 'blocks.0.feed_forward_norm'], ['FFN', 'blocks.0.feed_forward'],
                 ['x + FFN', 'blocks.0.feed_forward_sum'])(model),
  }),
  logits: (model) => {
    const { names, pick } = few(model), V = model.inside.vocabulary.length, { chosen } = model;
    const p = model.inside.probabilities.slice(chosen * V, (chosen + 1) * V);
    return { names, rows: [['logit', pick(model.row('logits', chosen), 3)], ['p', pick(p, 3)]] };
  },
  loss: (model) => ({
    names: [...model.text].slice(1).map(written),
    rows: [
      ['p', model.inside.losses.map((_, n) => fixed(model.inside.probabilities[n * model.inside.vocabulary.length + model.inside.tokens[n + 1]], 3))],
      ['−ln p', model.inside.losses.map((loss) => fixed(loss, 3))],
    ],
  }),
  gradient: (model) => {
    const { names, pick } = few(model), V = model.inside.vocabulary.length, { chosen, inside } = model;
    const p = inside.probabilities.slice(chosen * V, (chosen + 1) * V);
    const target = p.map((_, n) => Number(n === inside.tokens[chosen + 1]));
    return {
      names,
      rows: [['p', pick(p, 4)], ['t', pick(target, 0)],
             ['(p − t) / T', pick(p.map((value, n) => (value - target[n]) / inside.losses.length), 4)],
             ['the tape’s', pick(model.row('logits', chosen, 'gradient'), 4)]],
    };
  },
  tape: (model) => ({
    names: columns('c', 8),
    rows: stages(['x before layer 0', 'embedding', 'gradient'], ['before layer 1', 'blocks.0.feed_forward_sum', 'gradient'],
                 ['after layer 1', 'blocks.1.feed_forward_sum', 'gradient'])(model),
  }),
  adamw: (model) => {
    if (!model.learned) return { names: ['no step so far'], rows: [] };
    const { names, pick } = few(model), { before, gradient, first, second, after, updates } = model.learned;
    return {
      names,
      rows: [['w', pick(before, 4)], ['g', pick(gradient, 4)], ['m', pick(first, 4)], ['v', pick(second, 6)],
             [`w after step ${updates}`, pick(after, 4)]],
    };
  },
};

customElements.define('model-part', class extends HTMLElement {
  connectedCallback() {
    if (this.firstChild) return;
    this.innerHTML = '<p class="step"></p><div class="wide" tabindex="0" role="group" aria-label="Numbers"><table></table></div>';
    if (this.getAttribute('part') === 'adamw') this.#add_button();
    tiny.addEventListener('change', () => this.#draw());
    if (tiny.inside) this.#draw();
  }

  #add_button() {
    this.insertAdjacentHTML('afterbegin', '<div class="controls"><button type="button" name="learn">One step of AdamW</button></div><p role="alert" hidden></p>');
    part(this, 'learn').addEventListener('click', () => attempt(this, () => tiny.learn()));
  }

  #draw() {
    const { names, rows } = parts[this.getAttribute('part')](tiny);
    const cell = (tag, text) => Object.assign(document.createElement(tag), { textContent: text });
    const line = (cells) => {
      const row = document.createElement('tr');
      row.append(...cells);
      return row;
    };
    this.querySelector('.step').textContent = `Token ${tiny.chosen} “${written([...tiny.text][tiny.chosen])}” of “${tiny.text}”, after ${tiny.steps} ${tiny.steps === 1 ? 'step' : 'steps'}`;
    this.querySelector('table').replaceChildren(
      line([cell('td', ''), ...names.map((name) => cell('th', name))]),
      ...rows.map(([title, values]) => line([cell('th', title), ...values.map((value) => cell('td', value))])));
  }
});
