// <chorale-duet>: two models go on from the same two bars, one above the other, and notes that they begin between two
// eighths are marked and counted. All that it begins with is in the page already (make/duet.js), so that it plays at once,
// and shows without JavaScript and in print; styles hide what has not been played yet.

import { notes_of, quarter, steps_of } from 'book/chorale_notation.js';
import { can_play, ChoraleSound, delay } from 'book/chorale_sound.js';
import { part } from 'book/elements.js';
import { kept } from 'book/library.js';
import { comparing, put_playhead } from 'book/roll_drawing.js';
import { ask_model, is_open, open_model } from 'book/trained_models.js';
import { beginning, chorale, counted, drawn, in_words, models, request } from 'book/two_models.js';

const seconds = 60 / 72 / quarter;  // of a 16th: 72 quarters a minute
const names = Object.keys(models);

customElements.define('chorale-duet', class extends HTMLElement {
  #texts = {};   // the chorales that show, by the model's name
  #take = 1;     // the seed of these
  #next = null;  // asks for the next take
  #sound = new ChoraleSound();
  #run = 0;      // counts what was begun or stopped
  #began = null; // when the first 16th that plays would have sounded, or null

  connectedCallback() {
    this.#texts = Object.fromEntries(names.map((name) => [name, this.getAttribute(name)]));
    part(this, 'play').addEventListener('click', () => this.#began === null ? this.#play() : this.#stop());
    part(this, 'heard').addEventListener('change', () => this.#sound_from(this.#place));
    part(this, 'heard').disabled = !can_play();
    this.#show(0);
  }

  disconnectedCallback() { this.#stop(); }

  /// The chorales that show, by the model's name, in the notation of book/chorale_notation.js.
  get texts() { return { ...this.#texts }; }

  get #place() { return Math.max(0, (performance.now() - this.#began) / 1000 / seconds); }
  #of(name) { return this.querySelector(`[data-model=${name}]`); }
  #say(text) { this.querySelector('.status').textContent = text; }

  async #play() {
    const alert = this.querySelector('[role=alert]');
    alert.hidden = true;
    try {
      await this.#play_both();
    } catch (error) {
      alert.textContent = error.message;
      alert.hidden = false;
      this.#stop();
    }
  }

  /// The first take is there, and each plays while the models write the next one.
  async #play_both() {
    const run = ++this.#run, next = this.#next;
    part(this, 'play').textContent = 'Stop';
    this.scrollIntoView({ block: 'nearest', behavior: matchMedia('(prefers-reduced-motion: reduce)').matches ? 'instant' : 'smooth' });
    if (!next) this.#write_next();
    this.#say(`Bach’s two bars${next ? ', while the models write' : ''}.`);
    const written = next?.();
    written?.catch(() => {});  // awaited below
    if (next) for (const name of names) this.#draw(name, beginning);
    if (!await this.#follow(0, steps_of(beginning))) return;
    if (written) {
      await this.#say_what_is_missing(run);
      const texts = await written;
      if (run !== this.#run) return;
      names.forEach((name, n) => this.#draw(name, texts[n]));
      this.#take += 1;
      this.#write_next();
    }
    this.#say(written ? 'Each model goes on: these notes are new.' : 'Each model goes on: these notes came with the page.');
    if (!await this.#follow(steps_of(beginning), Math.max(...Object.values(this.#texts).map(steps_of)))) return;
    this.#stop();
    this.#say('Played again, they write other notes.');
  }

  /// Has the models write the next take, while another one plays.
  #write_next() {
    const seed = this.#take + 1;
    this.#next = kept(async () => (await Promise.all(names.map((name) => ask_model(models[name], request(seed))))).map(chorale));
    this.#next().catch(() => {});  // who wants it is told
  }

  /// Says for what the reader waits.
  async #say_what_is_missing(run) {
    const all = names.map((name) => models[name]);
    if (!all.every(is_open)) this.#say(`Loading the library and both models: ${this.getAttribute('megabytes')} MB, once.`);
    await Promise.all(all.map(open_model));
    if (run === this.#run) this.#say('The models write.');
  }

  #draw(name, text) {
    this.#texts[name] = text;
    const roll = this.#of(name).querySelector('.roll'), scrolled = roll.scrollLeft;
    roll.innerHTML = drawn(text);
    roll.scrollLeft = scrolled;
    this.#of(name).querySelector('.whole').innerHTML = counted(text);
    this.#of(name).querySelector('.in-words').textContent = in_words(text);
  }

  /// Plays from a 16th to another one. Returns whether nobody stopped it.
  #follow(from, to) {
    const run = this.#run;
    this.#began = performance.now() + 1000 * (delay - from * seconds);
    this.#sound_from(from);
    return new Promise((resolve) => {
      const frame = () => {
        if (run !== this.#run) return resolve(false);
        const place = Math.min(Math.max(from, this.#place), to);
        this.#show(place);
        if (place < to) requestAnimationFrame(frame);
        else resolve(true);
      };
      frame();
    });
  }

  #sound_from(place) {
    this.#sound.stop();
    const text = this.#texts[part(this, 'heard').value];
    if (this.#began !== null && text && can_play()) this.#sound.play(notes_of(text), place, seconds);
  }

  /// Shows what has begun before a 16th.
  #show(place) {
    for (const name of names) {
      const one = this.#of(name), sentence = counted(this.#texts[name], place), count = one.querySelector('.so-far');
      for (const note of one.querySelectorAll('.written, .off-beat')) {
        const { start, end = start } = note.dataset;
        note.classList.toggle('begun', start < place);
        note.style.setProperty('--grown', `${Math.max(0, comparing.width(Math.min(place, end) - start))}px`);
      }
      put_playhead(one.querySelector('.roll'), comparing, place || null);
      if (count.innerHTML !== sentence) count.innerHTML = sentence;
    }
  }

  #stop() {
    ++this.#run;
    this.#began = null;
    this.#sound.stop();
    for (const roll of this.querySelectorAll('.roll')) put_playhead(roll, comparing, null);
    part(this, 'play').textContent = 'Play again';
    this.#say('');
  }
});
