// A training in a worker of its own. It goes on in batches of steps, each about as long as the eye takes to
// see a change, so that the page can ask for something else in between. Now and then it scores the text that is
// held back.

import { Library } from 'book/library.js';

const milliseconds = 150;

export class TrainingRun {
  #library = new Library();
  #batch = 1;
  #going = false;
  /// The steps so far, from 1, the loss of each, and what they took.
  steps = [];
  losses = [];
  seconds = 0;
  /// The loss of the text that is held back, after some of the steps.
  scored = { steps: [], losses: [] };

  constructor(name, request) {
    this.name = name;
    this.unseen = request.unseen;
    this.begun = this.ask(request);
    this.begun.catch(() => {});  // `train` reports the error
  }

  ask(request) { return this.#library.ask(request); }
  get step() { return this.losses.length; }
  get speed() { return this.step / this.seconds; }
  get curve() { return { name: this.name, xs: this.steps, ys: this.losses }; }
  get unseen_curve() { return { name: `${this.name}, unseen`, xs: this.scored.steps, ys: this.scored.losses }; }
  get going() { return this.#going; }

  /// Trains for some steps, at most `most` in all.
  async some(most) {
    await this.begun;
    const steps = Math.min(this.#batch, most - this.step);
    if (steps <= 0) return;
    const start = performance.now();
    const { losses } = await this.ask({ do: 'train', steps });
    const took = performance.now() - start;
    for (const loss of losses) {
      this.losses.push(loss);
      this.steps.push(this.losses.length);
    }
    this.seconds += took / 1000;
    this.#batch = Math.max(1, Math.round(steps * Math.min(milliseconds / took, 4)));
  }

  /// Scores the text that is held back.
  async score() {
    const step = this.step;
    const { nats } = await this.ask({ do: 'score', text: this.unseen });
    this.scored.steps.push(step);
    this.scored.losses.push(nats);
  }

  /// Trains up to `most` steps or until `pause`. After each batch of steps, `shown` may ask and show.
  async go(most, shown) {
    this.#going = true;
    try {
      while (this.#going && this.step < most) {
        await this.some(most);
        await shown();
      }
    } finally {
      this.#going = false;
    }
  }

  pause() { this.#going = false; }

  close() {
    this.pause();
    this.#library.close();
  }
}
