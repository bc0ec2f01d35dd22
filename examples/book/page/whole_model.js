// <whole-model text="the cat sat">: all that a language model computes for a text, from the tokens below up to the loss.
// A strip has a coloured cell for each channel, blue above 0 and orange below. One token is chosen: its
// column is marked, and the rows of weights show where it looks.
// With terms, one head shows what each term of its score says about each key.
//
// The model is the page's tiny one, which learns from the text on the button's press. With `variant` and `steps` it
// is one of the workshop's, which the button trains first.

import { attempt, choose, element, fixed, part, written } from 'book/elements.js';
import { tiny, variant_model } from 'book/studied_model.js';
import { held_back, texts } from 'book/texts.js';

const longest = 13;

const titles = {
  embedding: 'embedding', mixer_norm: 'norm', mixer: 'attention', mixer_sum: '+ stream', feed_forward_norm: 'norm',
  feed_forward: 'feed-forward', feed_forward_sum: '+ stream', final_norm: 'norm', logits: 'logits',
};

/// The terms of the score, as the equations of the book have them.
const term_titles = { content_content: 'q·k', content_position: 'q·r', content_bias: 'u·k', position_bias: 'v·r' };

/// A strip of colours on a canvas of one pixel for each value.
function strip(values, limit) {
  const canvas = Object.assign(document.createElement('canvas'), { width: values.length, height: 1 });
  canvas.setAttribute('aria-hidden', 'true');
  const context = canvas.getContext('2d'), pixels = context.createImageData(values.length, 1);
  values.forEach((value, n) => {
    const [r, g, b] = value < 0 ? [230, 135, 30] : [45, 125, 225];
    pixels.data.set([r, g, b, 255 * Math.sqrt(Math.min(Math.abs(value) / limit, 1))], 4 * n);
  });
  context.putImageData(pixels, 0, 0);
  return canvas;
}

customElements.define('whole-model', class extends HTMLElement {
  #model = null;

  connectedCallback() {
    if (this.firstChild) return;
    const variant = this.getAttribute('variant');
    this.innerHTML = `
      <div class="controls">
        <label>Text <input type="text" name="text" maxlength="${longest}" size="${longest}"></label>
        <label>Token <input type="range" name="token" min="0" max="0"><output name="token"></output></label>
        ${variant ? '<label>Head <select name="head"></select></label>' : ''}
        <label>Show <select name="of"><option value="values">values</option><option value="gradient">gradients</option></select></label>
      </div>
      <div class="controls">
        <input type="hidden" name="course"><input type="hidden" name="stage" value="embedding">
        <button type="button" name="learn">${variant ? `Train ${this.getAttribute('steps')} steps` : 'One step of AdamW'}</button>
        ${variant ? '' : '<button type="button" name="again">Begin again</button>'}
      </div>
      <p class="status" role="status"></p>
      <p class="status unknown" role="status"></p>
      <p role="alert" hidden></p>
      <div class="wide model-rows" tabindex="0" role="group" aria-label="What the model computes"></div>
      <output class="field-value"></output>
      <div class="model-next" hidden>
        <label>Temperature <input type="range" name="temperature" min="0" max="2" step="0.1" value="1"><output name="temperature"></output></label>
        <button type="button" name="draw">Draw the next character</button>
        <p class="model-odds"></p>
      </div>`;
    this.#model = variant ? variant_model(variant, held_back(texts['The House That Jack Built']).seen) : tiny;
    this.#model.addEventListener('change', () => this.#draw());
    part(this, 'text').value = this.getAttribute('text');
    this.#model.chosen = Number(this.getAttribute('token') ?? longest);
    part(this, 'course').addEventListener('change', ({ target: { value } }) =>
      attempt(this, () => this.#busy(() => this.#model.follow(value))));
    part(this, 'stage').addEventListener('change', () => this.#draw());
    part(this, 'text').addEventListener('input', () => this.#look());
    part(this, 'token').addEventListener('input', ({ target }) => this.#model.choose(target.valueAsNumber));
    part(this, 'of').addEventListener('change', () => this.#draw());
    part(this, 'head')?.addEventListener('change', () => this.#draw());
    part(this, 'temperature').addEventListener('input', () => this.#draw());
    part(this, 'learn').addEventListener('click', () => attempt(this, () => this.#busy(() => this.#learn())));
    part(this, 'draw').addEventListener('click', () => attempt(this, () => this.#append()));
    part(this, 'again')?.addEventListener('click', () => attempt(this, () => this.#model.begin_again()));
    this.querySelector('.model-rows').addEventListener('pointerover', ({ target }) => this.#point(target.closest('td')));
    this.querySelector('.model-rows').addEventListener('click', ({ target }) => this.#point(target.closest('td')));
    this.#look();
  }

  #look() {
    // A capital letter that the model lacks is read as the small one.
    const all = [...part(this, 'text').value].map((letter) => this.#model.knows(letter) ? letter : letter.toLowerCase());
    const letters = all.filter((letter) => this.#model.knows(letter)).join('');
    this.#say_unknown(new Set(all.filter((letter) => !this.#model.knows(letter))));
    const shows = letters.length >= 2;
    for (const name of ['.status', '.model-rows', '.field-value']) this.querySelector(name).hidden = !shows;
    if (!shows) this.querySelector('.model-next').hidden = true;
    part(this, 'learn').disabled = !shows;
    attempt(this, () => {
      if (!shows) throw new Error('Type two letters or more that the model has: one to read and one to predict.');
      return this.#model.look(letters);
    });
  }

  #say_unknown(letters) {
    this.querySelector('.unknown').textContent = letters.size === 0 ? ''
      : `Left out, since the model has no token for it: ${[...letters].map((letter) => `“${letter}”`).join(', ')}`;
  }

  /// Learns, and cannot be asked to learn more meanwhile.
  async #busy(learn) {
    const button = part(this, 'learn');
    button.disabled = true;
    try {
      await learn();
    } finally {
      button.disabled = false;
    }
  }

  #learn() {
    return this.hasAttribute('variant') ? this.#model.train(Number(this.getAttribute('steps'))) : this.#model.learn();
  }

  /// Writes one character on, and chooses the token before it. The text forgets its beginning when it is full.
  async #append() {
    const all = this.#model.text + await this.#model.draw(part(this, 'temperature').valueAsNumber);
    const text = [...all].slice(-longest).join('');
    part(this, 'text').value = text;
    this.#say_unknown(new Set());
    this.#model.chosen = longest;
    await this.#model.look(text);
  }

  #point(cell) {
    if (cell?.dataset.token === undefined) return;
    part(this, 'stage').value = cell.dataset.stage ?? part(this, 'stage').value;
    this.#model.choose(Number(cell.dataset.token));
  }

  #draw() {
    const { inside, text, chosen, steps } = this.#model, of = part(this, 'of').value;
    if (!inside) return;
    const letters = [...text], count = inside.losses.length;
    if (part(this, 'head')) choose(this, 'head', null, inside.attention[0].map((_, n) => String(n)));
    Object.assign(part(this, 'token'), { max: count - 1, value: chosen });
    part(this, 'course').value = this.#model.course;
    this.querySelector('output[name=token]').textContent = `${chosen} “${written(letters[chosen])}”`;
    this.querySelector('.status').textContent =
      `${steps} ${steps === 1 ? 'step' : 'steps'}: loss ${fixed(inside.loss, 3)} nats`;
    // Rows in the order in which they are computed, in groups: what comes later stands higher.
    const groups = [[this.#row('token', letters.slice(0, count).map((letter, n) => element('td', written(letter), { 'data-token': n })), 'letters')]];
    const layers = [], headings = [];
    const begin = (title) => {
      headings[groups.length] = this.#heading(title);
      groups.push([]);
    };
    for (const stage of inside.stages) {
      const [, layer, name] = /^blocks\.(\d+)\.(.*)$/.exec(stage.name) ?? [null, null, stage.name];
      if (layer !== null && !layers.includes(layer)) {
        layers.push(layer);
        begin(`layer ${layer}`);
      }
      if (name === 'final_norm') begin('prediction');
      if (name === 'mixer')
        groups.at(-1).push(...this.#terms(Number(layer), count), ...this.#weights(inside.attention[Number(layer)], count));
      groups.at(-1).push(this.#strips(stage, titles[name], of, count));
    }
    groups.at(-1).push(this.#row('next', letters.slice(1).map((letter, n) => element('td', written(letter), { 'data-token': n })), 'letters'),
                 this.#row('loss', inside.losses.map((loss, n) => element('td', fixed(loss), { 'data-token': n }))));
    const table = element('table');
    groups.forEach((group, n) => table.prepend(...(headings[n] ? [headings[n]] : []), ...group.reverse()));
    const rows = this.querySelector('.model-rows');
    rows.replaceChildren(table);
    for (const cell of rows.querySelectorAll('td'))
      cell.classList.toggle('chosen', Number(cell.dataset.token) === chosen);
    this.#say(of, letters);
    this.#odds(letters);
  }

  #heading(text) {
    const row = element('tr');
    row.append(element('th', text, { colspan: 99, scope: 'rowgroup', class: 'layer' }));
    return row;
  }

  #row(title, cells, kind = '') {
    const row = element('tr', '', kind ? { class: kind } : {});
    row.append(element('th', title, { scope: 'row' }), ...cells);
    return row;
  }

  #strips({ name, values, gradient }, title, of, count) {
    const shown = of === 'values' ? values : gradient, width = shown.length / count;
    const limit = Math.max(...shown.map(Math.abs)) || 1;
    return this.#row(title, Array.from({ length: count }, (_, n) => {
      const cell = element('td', '', { 'data-token': n, 'data-stage': name });
      cell.append(strip(shown.slice(n * width, (n + 1) * width), limit));
      return cell;
    }), name.endsWith('_sum') || name === 'embedding' ? 'stream' : '');
  }

  /// What each term of a head's score says of the chosen token and each key.
  #terms(layer, count) {
    const { chosen, terms } = this.#model, head = Number(part(this, 'head')?.value);
    return (terms?.layers[layer].terms ?? []).map(({ name, heads }) => {
      const row = this.#row('', Array.from({ length: count }, (_, n) =>
        element('td', n > chosen ? '' : fixed(heads[head][chosen * count + n]), { 'data-token': n })), 'weights');
      row.firstChild.append(element('span', term_titles[name] ?? name, { class: `term-name means-${name.replace('_', '-')}` }));
      return row;
    });
  }

  /// Where the chosen token looks, a row for each head, or for the chosen one whose terms stand above.
  #weights(heads, count) {
    const { chosen, terms } = this.#model, head = part(this, 'head')?.value;
    const row = (weights, h) => this.#row(`looks, head ${h}`, Array.from({ length: count }, (_, n) => {
      const weight = weights[chosen * count + n];
      const cell = element('td', n > chosen ? '' : fixed(weight), { 'data-token': n });
      cell.style.setProperty('--weight', `${100 * weight}%`);
      return cell;
    }), 'weights');
    return (heads ?? []).map(row).filter((_, h) => !terms || h === Number(head));
  }

  #say(of, letters) {
    const { chosen, inside } = this.#model, named = part(this, 'stage').value;
    // An address may name any.
    const stage = inside.stages.some(({ name }) => name === named) ? named : inside.stages[0].name;
    const values = this.#model.row(stage, chosen, of);
    const numbers = values.length > 16 ? `${values.slice(0, 12).map((value) => fixed(value)).join(', ')} … (${values.length} numbers)`
      : values.map((value) => fixed(value, of === 'values' ? 2 : 3)).join(', ');
    this.querySelector('.field-value').textContent =
      `${stage}, token ${chosen} “${written(letters[chosen])}”${of === 'values' ? '' : ', gradient'}: ${numbers}`;
  }

  /// The likeliest next characters after the chosen token. The temperature divides the logits.
  #odds(letters) {
    const logits = this.#model.row('logits', this.#model.chosen), { vocabulary } = this.#model.inside;
    const temperature = part(this, 'temperature').valueAsNumber, greatest = Math.max(...logits);
    const powers = logits.map((logit) => temperature ? Math.exp((logit - greatest) / temperature) : Number(logit === greatest));
    const sum = powers.reduce((a, b) => a + b);
    this.querySelector('output[name=temperature]').textContent = temperature.toFixed(1);
    this.querySelector('.model-next').hidden = false;
    const best = powers.map((power, n) => [power / sum, vocabulary[n]]).sort(([a], [b]) => b - a).slice(0, 8);
    this.querySelector('.model-odds').replaceChildren(`After “${letters.slice(0, this.#model.chosen + 1).map(written).join('')}”: `,
      ...best.map(([p, character]) => {
        const one = element('span', `${written(character)} ${fixed(p, 3)}`);
        one.style.setProperty('--weight', `${100 * p}%`);
        return one;
      }));
  }
});
