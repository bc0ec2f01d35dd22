// <train-it>: trains a variant on a text, and shows what it learns: the loss beside that of earlier trainings,
// what it writes, what its characters attend to, and what it has learned about distances. The attribute
// `variant` names the one to begin with; with `begins` it begins when it is first seen, unless the reader wants no
// motion. An event "trained" tells that the model has changed.

import 'book/drawn_figure.js';
import { attempt, choose, choices, number, part } from 'book/elements.js';
import { known_characters } from 'book/known_characters.js';
import 'book/map_choice.js';
import { texts } from 'book/texts.js';
import { TrainingRun } from 'book/training_run.js';
import { when_seen } from 'book/when_seen.js';
import { begin, fewest_characters, most_steps, variants } from 'book/variants.js';

const own_text = 'your own text';
const no_attention = 'This variant attends to nothing: a recurrent network or sums stand in its place.';
const most_runs = 4;
const between_looks = 1000;  // milliseconds
const looked_at = 32;        // characters

customElements.define('train-it', class extends HTMLElement {
  #run = null;
  #renew = true;  // whether the next press begins anew
  #earlier = [];  // curves
  #last_look = 0;
  #going = null;  // what ends with the training that goes on

  /// The training that is shown, or null, its text, and the {variant, text, own} that the reader chose for it.
  get run() { return this.#run; }
  text = '';
  choices = null;

  connectedCallback() {
    if (this.firstChild) return;
    this.innerHTML = `
      <div class="controls">
        <label>Variant <select name="variant">${choices(variants)}</select></label>
        <label>Text <select name="text">${choices([...Object.keys(texts), own_text])}</select></label>
        <button name="train" class="primary">Train</button>
      </div>
      <label class="own" hidden>Your own text: ${fewest_characters} characters or more
        <textarea name="own" rows="4"></textarea></label>
      <p role="alert" hidden></p>
      <p class="status" role="status">Nothing is trained yet.</p>
      <drawn-figure class="loss" hidden></drawn-figure>
      <div class="learned" hidden>
      <h3>What it writes</h3>
      <pre class="written" tabindex="0" aria-label="What the model writes"></pre>
      <h3>What each character attends to</h3>
      <div class="controls">
        <label>Characters <input name="looked_at" size="20" maxlength="${looked_at}"></label>
        <label>Layer <select name="layer">${choices(['0', '1'])}</select></label>
        <label>Head <select name="head"></select></label>
      </div>
      <p class="no-attention" hidden>${no_attention}</p>
      <map-choice aria-label="Heads of all layers"></map-choice>
      <drawn-figure class="weights"></drawn-figure>
      <h3>What it has learned about distances</h3>
      <div class="controls"><label>Show the <select name="table"></select></label></div>
      <p class="no-distances" hidden>This variant learns nothing about distances.</p>
      <drawn-figure class="distances"></drawn-figure>
      </div>`;
    choose(this, 'variant', this.getAttribute('variant') ?? variants[0]);
    this.#part('train').addEventListener('click', () => this.#press());
    this.#part('variant').addEventListener('change', () => this.#chosen());
    this.#part('text').addEventListener('change', () => this.#chosen());
    this.#part('own').addEventListener('change', () => this.#chosen());
    for (const name of ['layer', 'head', 'table', 'looked_at'])
      this.#part(name).addEventListener('change', () => attempt(this, () => this.#look()));
    this.querySelector('map-choice').addEventListener('choose', ({ detail }) => {
      this.#part('layer').value = detail.layer;
      this.#part('head').value = detail.head;
      attempt(this, () => this.#look());
    });
    if (this.hasAttribute('begins')) when_seen(this, () => { if (!this.#run) this.#press(); });
  }

  disconnectedCallback() { this.#run?.close(); }

  #part(name) { return part(this, name); }

  /// What is chosen differs from what is trained: the next training begins anew.
  #chosen() {
    this.querySelector('.own').hidden = this.#part('text').value !== own_text;
    this.#run?.pause();
    this.#renew = true;
    this.#name_button();
  }

  #name_button() {
    this.#part('train').textContent = this.#run?.going ? 'Pause'
      : this.#renew || this.#run?.step >= most_steps ? 'Train' : 'Go on';
  }

  async #press() {
    if (this.#run?.going) {
      this.#run.pause();
    } else {
      await attempt(this, () => this.#train());
    }
    this.#name_button();
  }

  async #train(most = most_steps) {
    if (this.#renew || this.#run.step >= most_steps) this.#begin();
    const run = this.#run;
    this.#going = run.go(most, () => this.#shown(run));
    this.#name_button();
    await this.#going;
    if (run === this.#run) await this.#look();
  }

  /// Trains by these choices from the start, for so many steps.
  async train_again({ variant, text, own }, steps) {
    for (const [name, value] of Object.entries({ variant, text, ...own && { own } })) this.#part(name).value = value;
    const { variant: known, text: known_text } = this.#choices();
    if (known !== variant || known_text !== text || !(steps >= 1 && steps <= most_steps))
      throw new Error(`There is no training of "${variant}" on "${text}" for ${steps} steps.`);
    this.#chosen();
    await this.#train(steps);
    this.#name_button();
  }

  /// Ends after the step that it is at.
  async pause() {
    this.#run?.pause();
    await this.#going;
  }

  #choices() {
    const [variant, text, own] = ['variant', 'text', 'own'].map((name) => this.#part(name).value);
    return { variant, text, own: text === own_text ? own : '' };
  }

  #begin() {
    const text = this.#part('text').value === own_text ? this.#part('own').value : texts[this.#part('text').value];
    const characters = [...text].length;
    if (characters < fewest_characters)
      throw new Error(`Your own text has ${characters} ${characters === 1 ? 'character' : 'characters'}, expected at least ${fewest_characters}.`);
    this.text = text;
    if (this.#run) {
      this.#run.close();
      if (this.#run.step) this.#earlier = [this.#run.unseen_curve, ...this.#earlier].slice(0, most_runs - 1);
    }
    const variant = this.#part('variant').value;
    this.#run = new TrainingRun(`${variant} on ${this.#part('text').value}`, begin(variant, this.text));
    this.#renew = false;
    this.choices = this.#choices();
    this.#part('looked_at').value = this.text.slice(0, looked_at).split('\n')[0];
    this.#last_look = 0;
  }

  async #shown(run) {
    if (run !== this.#run) return;
    this.#draw();
    if (performance.now() - this.#last_look > between_looks) await this.#look();
  }

  #draw() {
    const run = this.#run;
    this.querySelector('.status').textContent = `Step ${run.step} of ${most_steps}: loss ${number(run.losses.at(-1))} ` +
        `nats of the batch, ${number(run.scored.losses.at(-1))} of the unseen text; ${run.speed.toFixed(0)} steps a second.`;
    const earlier = this.#earlier.map((curve) => ({ ...curve, name: `${curve.name}, before` }));
    const chart = this.querySelector('.loss');
    chart.hidden = false;
    chart.show({ chart: {
      title: 'Loss of the batch, and of the end of the text, which is held back', x_title: 'step', y_title: 'nats a character',
      curves: [{ ...run.curve, name: `${run.name}, batch` }, run.unseen_curve, ...earlier],
    } });
  }

  async #look() {
    const run = this.#run;
    if (!run?.step) return;
    await run.score();
    this.#draw();
    this.querySelector('.learned').hidden = false;
    this.#show_distances(await run.ask({ do: 'distances', most: 64 }));
    const { text: written } = await run.ask(
      { do: 'write', prompt: this.text.slice(0, 8), length: 160, temperature: 0.5 });
    this.querySelector('.written').textContent = this.text.slice(0, 8) + written;
    this.#last_look = performance.now();
    this.dispatchEvent(new CustomEvent('trained'));
    await this.#look_at(this.#part('looked_at').value);
  }

  /// Shows the attention of the characters that the reader typed, or says why there is none. A training goes on.
  async #look_at(typed) {
    const run = this.#run;
    let text;
    try {
      text = known_characters(typed, this.text);
    } catch (error) {
      for (const part of ['.weights', 'map-choice']) this.querySelector(part).hidden = true;
      Object.assign(this.querySelector('.no-attention'), { hidden: false, textContent: error.message });
      return;
    }
    this.#show_attention(text, await run.ask({ do: 'attention', text }));
  }

  #show_attention(text, { layers }) {
    const characters = [...text];
    const map = this.querySelector('.weights');
    const maps = layers[Number(this.#part('layer').value)] ?? [];
    map.hidden = maps.length === 0;
    Object.assign(this.querySelector('.no-attention'), { hidden: maps.length > 0, textContent: no_attention });
    part(this, 'head').closest('.controls').hidden = maps.length === 0;
    choose(this, 'head', null, maps.map(({ title }) => title));
    const rows = ({ weights }) =>
      characters.map((_, i) => characters.map((_, j) => j > i ? null : weights[i * characters.length + j]));
    this.#show_heads(layers.map((heads) => heads.map((head) => ({ title: head.title, values: rows(head) }))));
    const shown = maps.find(({ title }) => title === this.#part('head').value);
    if (!shown) return;
    map.show({ map: {
      title: `Layer ${this.#part('layer').value}, ${shown.title}`, limit: 1, values: rows(shown),
      row_title: 'query', row_names: characters, column_title: 'key', column_names: characters,
    } });
  }

  async #show_heads(layers) {
    const choice = this.querySelector('map-choice');
    choice.hidden = false;
    await choice.show(layers);
    choice.mark({ layer: this.#part('layer').value, head: this.#part('head').value });
  }

  #show_distances({ layers }) {
    const tables = layers[Number(this.#part('layer').value)] ?? [];
    const chart = this.querySelector('.distances');
    chart.hidden = tables.length === 0;
    this.querySelector('.no-distances').hidden = tables.length > 0;
    part(this, 'table').closest('.controls').hidden = tables.length === 0;
    choose(this, 'table', null, tables.map(({ title }) => title));
    const shown = tables.find(({ title }) => title === this.#part('table').value);
    if (!shown) return;
    chart.show({ chart: {
      title: `Layer ${this.#part('layer').value}: ${shown.title}`, x_title: 'distance', y_title: '',
      curves: shown.heads.map((ys, h) => ({ name: `head ${h}`, xs: ys.map((_, n) => shown.first + n), ys })),
    } });
  }
});
