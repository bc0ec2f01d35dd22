// <take-apart of="ID">: takes apart the model that the <train-it> of this id has trained: what each term of the
// score says about each pair of characters, and what becomes of the loss and of the text without some terms.

import 'book/drawn_figure.js';
import { attempt, choose, number, part } from 'book/elements.js';
import { known_characters } from 'book/known_characters.js';

const looked_at = 24, scored = 1500, written = 120;  // characters

/// The terms of attention and of AFT, as their equations have them.
const of_attention = {
  content_content: 'content·content, q·k', content_position: 'content·position, q·r',
  content_bias: 'content bias, u·k', position_bias: 'position bias, v·r',
  position_content: 'position·content, k·p', position_scores: 'position scores, s',
};
const of_aft = { content: 'content, k', position_bias: 'position bias, w' };
/// The class that has a term's colour.
const meaning_of = (name, names) =>
  names.includes('content') ? { content: 'key', position_bias: 'position-scores' }[name] : name.replace('_', '-');
const title_of = (name, names) => (names.includes('content') ? of_aft : of_attention)[name] ?? name;

customElements.define('take-apart', class extends HTMLElement {
  #known = {};  // what a training's model at one step has answered: {run, step, outcomes}

  connectedCallback() {
    if (this.firstChild) return;
    this.innerHTML = `
      <p class="status" role="status">Train a model above first. Then press the button.</p>
      <input type="hidden" name="training">
      <div class="controls"><button name="look">Look at the model as it is now</button></div>
      <p role="alert" hidden></p>
      <div class="controls apart" hidden>
        <label>Characters <input name="text" size="24" maxlength="${looked_at}"></label>
        <label>Layer <select name="layer"></select></label>
        <label>Head <select name="head"></select></label>
      </div>
      <fieldset class="controls terms" hidden><legend>Terms of the score in all layers</legend></fieldset>
      <div class="beside maps"></div>
      <div class="beside outcome" hidden>
        <div><h4>With all terms</h4><p class="loss"></p><pre tabindex="0" aria-label="Written with all terms"></pre></div>
        <div><h4>With the terms that are on</h4><p class="loss"></p><pre tabindex="0" aria-label="Written with the terms that are on"></pre></div>
      </div>`;
    part(this, 'training').addEventListener('change', ({ target: { value } }) =>
      attempt(this, () => this.#train(value)));
    part(this, 'look').addEventListener('click', () => attempt(this, () => this.#begin()));
    for (const name of ['text', 'layer', 'head'])
      part(this, name).addEventListener('change', () => attempt(this, () => this.#show()));
  }

  get #training() { return document.getElementById(this.getAttribute('of')); }

  get #trained() {
    if (!this.#training?.run?.step) throw new Error('Nothing is trained yet: press "Train" above first.');
    return this.#training;
  }

  /// Has the model trained that an address names: "300*Transformer-XL*Three sonnets*", and then the reader's own text.
  async #train(named) {
    const [steps, variant, text, ...own] = named.split('*');
    this.#say(`${steps} steps of ${variant} come first, above.`);
    await this.#training.train_again({ variant, text, own: own.join('*') }, Number(steps));
    await this.#begin();
  }

  #say(text) { this.querySelector('.status').textContent = text; }

  get #without() {
    return [...this.querySelectorAll('.terms input')].filter((box) => !box.checked).map((box) => box.value);
  }

  async #begin() {
    await this.#training?.pause();  // each answer would be of another model
    const { text } = this.#trained;
    part(this, 'text').value ||= text.slice(0, looked_at).split('\n')[0];
    this.querySelector('.apart').hidden = false;
    await this.#show();
    await this.#compare();
  }

  async #show() {
    const text = this.#text();
    const { layers } = await this.#ask({ do: 'terms', text, without: [] });
    if (layers.length === 0) throw new Error('This variant has no scores: there are no terms to take apart.');
    this.#name_model();
    choose(this, 'layer', null, layers.map((_, n) => String(n)));
    choose(this, 'head', null, layers[0].weights.map((_, n) => String(n)));
    this.#offer(layers[0].terms.map(({ name }) => name));
    const left = await this.#ask({ do: 'terms', text, without: this.#without });
    this.#draw([...text], left.layers[Number(part(this, 'layer').value)], Number(part(this, 'head').value));
  }

  /// The characters to look at. Where there are none that the model knows, nothing of before stays.
  #text() {
    try {
      return known_characters(part(this, 'text').value, this.#trained.text);
    } catch (error) {
      this.querySelector('.maps').replaceChildren();
      throw error;
    }
  }

  /// Asks the model, at whatever step it is.
  #ask(request) { return this.#trained.run.ask(request); }

  /// Says which model this is, and keeps it for the address.
  #name_model() {
    const { run: { step }, choices: { variant, text, own } } = this.#trained;
    part(this, 'training').value = [step, variant, text, own].join('*');
    this.#say(`${variant} after ${step} steps on ${text}.`);
  }

  /// A checkbox for each term.
  #offer(names) {
    const terms = this.querySelector('.terms');
    if (terms.dataset.names === names.join()) return;
    terms.dataset.names = names.join();
    terms.hidden = false;
    terms.replaceChildren(terms.querySelector('legend'), ...names.map((name) => {
      const label = document.createElement('label');
      label.innerHTML = `<input type="checkbox" name="${name}" value="${name}" checked> <span class="term-name means-${meaning_of(name, names)}">${title_of(name, names)}</span>`;
      label.firstChild.addEventListener('change', () => attempt(this, async () => {
        await this.#show();
        await this.#compare();
      }));
      return label;
    }));
  }

  #draw(characters, { terms, weights }, head) {
    const maps = this.querySelector('.maps');
    const names = terms.map(({ name }) => name);
    const shown = [...terms.map(({ name, heads }) => [title_of(name, names), heads[head]]), ['weights', weights[head]]];
    const limit = Math.max(...terms.flatMap(({ heads }) => heads[head].map(Math.abs)));
    const size = characters.length;
    while (maps.children.length > shown.length) maps.lastChild.remove();
    while (maps.children.length < shown.length) maps.append(this.#new_map());
    names.concat('weights').forEach((name, n) => {
      maps.children[n].className = name === 'weights' ? '' : `term-map means-${meaning_of(name, names)}`;
    });
    shown.forEach(([title, values], n) => maps.children[n].show({ map: {
      title, limit: title === 'weights' ? 1 : limit, signed: title !== 'weights',
      values: characters.map((_, i) => characters.map((_, j) => j > i ? null : values[i * size + j])),
      row_title: 'query', row_names: characters, column_title: 'key', column_names: characters,
    } }));
  }

  /// A map whose cursor all others follow.
  #new_map() {
    const map = document.createElement('drawn-figure');
    map.addEventListener('cell', ({ detail: cell }) => {
      for (const other of this.querySelectorAll('drawn-figure'))
        if (other !== map) other.mark(cell?.row, cell?.column);
    });
    return map;
  }

  /// The loss of the unseen text and what the model writes without some terms. As long as the model stays as it is,
  /// it is asked once.
  #outcome(without) {
    const { text, run } = this.#trained;
    if (this.#known.run !== run || this.#known.step !== run.step) this.#known = { run, step: run.step, outcomes: {} };
    return this.#known.outcomes[without] ??= (async () => {
      const { nats } = await run.ask({ do: 'score', text: run.unseen.slice(0, scored), without });
      const prompt = text.slice(0, 8);
      const more = await run.ask({ do: 'write', prompt, length: written, temperature: 0.5, without });
      return { nats, written: prompt + more.text };
    })();
  }

  async #compare() {
    const sides = this.querySelectorAll('.outcome > div');
    const off = this.#without;
    for (const [n, without] of [[], off].entries()) {
      const { nats, written } = await this.#outcome(without);
      if (off.join() !== this.#without.join()) return;  // the reader has gone on
      sides[n].querySelector('.loss').textContent = `Loss of the unseen text: ${number(nats)} nats a character`;
      sides[n].querySelector('pre').textContent = written;
      this.querySelector('.outcome').hidden = false;
    }
  }
});
