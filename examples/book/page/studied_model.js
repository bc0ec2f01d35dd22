// A language model that figures of a page look into: what it computes for a text, the gradients, and how steps of
// AdamW change it. An event "change" tells that any of it has changed.

import { ask, Library } from 'book/library.js';
import { begin } from 'book/variants.js';

const rate = 0.05;                // of a step that the reader makes
const followed = 'output.bias';   // the parameter whose update is told
const at_once = 25;               // steps of a training between two looks
const most_steps = 2000;          // of a course that an address names

export class StudiedModel extends EventTarget {
  #ask;
  #request;
  #begun = null;
  #with_terms;
  #asked = 0;
  #drawn = 0;
  #wanted = '';     // the text of the last look, which is not answered yet
  #course = [];     // what it has learned: [steps, text], and [steps] of a training
  text = '';
  inside = null;    // the answer to the request of that name
  terms = null;     // that to "terms" without the last character, which is only predicted; where they are asked for
  learned = null;   // the answer to the last "learn"
  chosen = 0;       // the token that all figures read

  constructor(request, ask, { with_terms = false } = {}) {
    super();
    this.#request = request;
    this.#ask = ask;
    this.#with_terms = with_terms;
  }

  /// Whether the vocabulary has this character.
  knows(character) { return this.#request.text.includes(character); }

  /// Asks for the pass over a text, of which the last character is only predicted.
  async look(text = this.#wanted) {
    this.#wanted = text;
    this.#begun ??= this.#ask(this.#request);
    await this.#begun;
    const asked = ++this.#asked;
    const inside = await this.#ask({ do: 'inside', text });
    const terms = this.#with_terms ? await this.#ask({ do: 'terms', text: [...text].slice(0, -1).join('') }) : null;
    if (asked !== this.#asked) return;
    Object.assign(this, { text, inside, terms });
    this.choose(this.chosen);
  }

  choose(token) {
    this.chosen = Math.min(Math.max(token, 0), this.inside.losses.length - 1);
    this.dispatchEvent(new Event('change'));
  }

  get steps() { return this.#course.reduce((sum, [steps]) => sum + steps, 0); }

  /// What it has learned, from the start: "3*the cat sat.2*a dog" is 3 steps from a text and then 2 from another, and
  /// "200" are steps of its training.
  get course() { return this.#course.map((part) => part.join('*')).join('.'); }

  #note(steps, ...text) {
    const last = this.#course.at(-1);
    if (last && last[1] === text[0]) last[0] += steps;
    else this.#course.push([steps, ...text]);
  }

  async #learn(text) {
    this.learned = await this.#ask({ do: 'learn', text, parameter: followed, learning_rate: rate });
    this.#note(1, text);
  }

  /// One step of AdamW from this text alone.
  async learn() {
    await this.#learn(this.text);
    await this.look();
  }

  /// Steps of training from all of the training's text, looked at now and then.
  async train(steps) {
    await this.#begun;
    for (let left = steps; left > 0; left -= at_once) {
      const now = Math.min(at_once, left);
      await this.#ask({ do: 'train', steps: now });
      this.#note(now);
      await this.look();
    }
  }

  /// Learns from the start what another model has learned, by its course.
  async follow(course) {
    const parts = course.split('.').map((part) => part.split('*'));
    const sum = parts.reduce((all, [steps]) => all + Number(steps), 0);
    if (!parts.every(([steps]) => /^[0-9]+$/.test(steps)) || sum > most_steps)
      throw new Error(`The course is "${course}", expected at most ${most_steps} steps, as in "3*the cat sat".`);
    await this.begin_again();
    for (const [steps, text] of parts)
      if (text === undefined) await this.train(Number(steps));
      else for (let n = 0; n < Number(steps); ++n) await this.#learn(text);
    await this.look();
  }

  /// Returns the character that the model draws behind the text.
  async draw(temperature) {
    const { text } = await this.#ask({ do: 'write', prompt: this.text, length: 1, temperature, seed: ++this.#drawn });
    return text;
  }

  async begin_again() {
    this.#begun = this.#ask(this.#request);
    this.learned = null;
    this.#course = [];
    await this.look();
  }

  /// The values of a stage for one token, and how many it has for each.
  row(name, token, of = 'values') {
    const { stages, losses } = this.inside;
    const all = stages.find((stage) => stage.name === name)[of], width = all.length / losses.length;
    return all.slice(token * width, (token + 1) * width);
  }
}

const known = ' abcdefghijklmnopqrstuvwxyz';

/// The small model that all figures of a page share: two layers of eight channels and two heads.
export const tiny = new StudiedModel({
  do: 'begin', text: known,
  model: { d_model: 8, n_layer: 2, n_head: 2, d_inner: 16, mixer: { type: 'multi_head_attention' } },
  training: { batch_size: 1, block_size: 8, seed: 3 },
}, ask);

/// A model of one of the workshop's variants, in a worker of its own.
export function variant_model(variant, text) {
  const library = new Library();
  return new StudiedModel(begin(variant, text), (request) => library.ask(request), { with_terms: true });
}
