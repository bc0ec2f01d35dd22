// <reading-race>: a Transformer-XL reads one text twice, in a window that slides and in segments behind a memory.
// Whichever has computed for less time goes on, so both clocks run alike; a lane waits as long as it really computes.

import { attempt, number, part } from 'book/elements.js';
import { texts } from 'book/texts.js';
import { TrainingRun } from 'book/training_run.js';
import { begin, segment } from 'book/variants.js';

const steps = 200, memory = 96, window = 128;
const lanes = [
  { mode: 'sliding', title: `A window of ${window} characters, fed anew for each`, segment: window, count: 4 },
  { mode: 'memory', title: `Segments of ${segment} behind a memory of ${memory}`, segment, count: segment },
];

customElements.define('reading-race', class extends HTMLElement {
  #run = null;
  #races = 0;

  connectedCallback() {
    if (this.firstChild) return;
    this.innerHTML = `
      <div class="controls"><button type="button" name="start">Train ${steps} steps, then race</button></div>
      <p role="alert" hidden></p>
      <p class="status" role="status">Nothing is trained yet.</p>
      ${lanes.map(({ mode, title }) => `<div class="lane" data-mode="${mode}"><b>${title}</b>
        <progress max="1" value="0" aria-label="${title}"></progress><output>waits</output>
        <p class="read" aria-hidden="true"></p></div>`).join('')}`;
    part(this, 'start').addEventListener('click', () => attempt(this, () => this.#start()));
  }

  disconnectedCallback() { this.#run?.close(); }

  async #start() {
    const button = part(this, 'start'), status = this.querySelector('.status');
    button.disabled = true;
    try {
      this.#run ??= new TrainingRun('Transformer-XL', begin('Transformer-XL', texts['Words said twice']));
      await this.#run.go(steps, () => { status.textContent = `Training: step ${this.#run.step} of ${steps}.`; });
      await this.#race();
    } finally {
      button.disabled = false;
      button.textContent = 'Race again';
    }
  }

  async #race() {
    const race = ++this.#races, text = this.#run.unseen;
    const clocks = await Promise.all(lanes.map(async ({ mode, segment, count }) => {
      const { tokens } = await this.#run.ask({ do: 'read', mode, text, segment, memory });
      return { mode, count, tokens, seconds: 0, nats: [], fed: 0 };
    }));
    for (const clock of clocks) this.#show(clock, text);
    const reads = (clock) => clock.nats.length < clock.tokens;
    while (clocks.some(reads)) {
      const clock = clocks.filter(reads).sort((a, b) => a.seconds - b.seconds)[0];
      const start = performance.now();
      const { nats, fed } = await this.#run.ask({ do: 'read_on', mode: clock.mode, count: clock.count });
      clock.seconds += (performance.now() - start) / 1000;
      clock.nats.push(...nats);
      clock.fed = fed;
      if (race !== this.#races) return;
      this.#show(clock, text);
    }
    const [slid, remembered] = clocks;
    this.querySelector('.status').textContent =
      `The window fed ${slid.fed} characters to the model, the memory ${remembered.fed}: ` +
      `${(slid.fed / remembered.fed).toFixed(1)} times as many. It took ${(slid.seconds / remembered.seconds).toFixed(1)} times as long.`;
  }

  #show({ mode, tokens, seconds, nats, fed }, text) {
    const lane = this.querySelector(`[data-mode=${mode}]`);
    lane.querySelector('progress').value = nats.length / tokens;
    const mean = nats.reduce((sum, value) => sum + value, 0) / nats.length;
    lane.querySelector('output').textContent = nats.length
      ? `${nats.length} of ${tokens} read in ${seconds.toFixed(2)} s, ${fed} fed, ${number(mean)} nats a character` : 'waits';
    lane.querySelector('.read').textContent = text.slice(Math.max(0, nats.length - 60), nats.length + 1).replaceAll('\n', ' ');
  }
});
