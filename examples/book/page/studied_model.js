// A language model that figures of a page look into: what it computes for a text, the gradients, and how steps of
// AdamW change it. An event "change" tells that any of it has changed.

import { ask, Library } from 'book/library.js';
import { begin } from 'book/variants.js';

export class StudiedModel extends EventTarget {
  #ask;
  #request;
  #begun = null;
  #with_terms;
  #asked = 0;
  #drawn = 0;
  text = '';
  inside = null;    // the answer to the request of that name
  terms = null;     // that to "terms" without the last character, which is only predicted; where they are asked for
  learned = null;   // the answer to the last "learn"
  chosen = 0;       // the token that all figures read
  steps = 0;

  constructor(request, ask, { with_terms = false } = {}) {
    super();
    this.#request = request;
    this.#ask = ask;
    this.#with_terms = with_terms;
  }

  /// Whether the vocabulary has this character.
  knows(character) { return this.#request.text.includes(character); }

  /// Asks for the pass over a text, of which the last character is only predicted.
  async look(text = this.text) {
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

  /// One step of AdamW from this text alone.
  async learn(parameter, learning_rate) {
    this.learned = await this.#ask({ do: 'learn', text: this.text, parameter, learning_rate });
    this.steps += 1;
    await this.look();
  }

  /// Steps of training from all of the training's text.
  async train(steps) {
    await this.#begun;
    await this.#ask({ do: 'train', steps });
    this.steps += steps;
    await this.look();
  }

  /// Returns the character that the model draws behind the text.
  async draw(temperature) {
    const { text } = await this.#ask({ do: 'write', prompt: this.text, length: 1, temperature, seed: ++this.#drawn });
    return text;
  }

  async begin_again() {
    this.#begun = this.#ask(this.#request);
    Object.assign(this, { learned: null, steps: 0 });
    await this.look();
  }

  /// The values of a stage for one token, and how many it has for each.
  row(name, token, of = 'values') {
    const { stages, losses } = this.inside;
    const all = stages.find((stage) => stage.name === name)[of], width = all.length / losses.length;
    return all.slice(token * width, (token + 1) * width);
  }
}

/// The learning rate of a step that the reader makes.
export const rate = 0.05;

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
