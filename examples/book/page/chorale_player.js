// <chorale-player>: a chorale that a relative model and an absolute one write on after the same beginning, or under a
// melody that the reader clicks in. It sounds, and shows what the choice of each note attended to. It begins with what
// the relative model writes first, which is in the page already (make/first_takes.js).

import { beginnings } from 'book/chorale_beginnings.js';
import { bar, begin, character_of, name_of, notes_of, pitch_of, quarter, steps_of, voices } from 'book/chorale_notation.js';
import { can_play, ChoraleSound } from 'book/chorale_sound.js';
import { attempt, choices, choose, part } from 'book/elements.js';
import { kept } from 'book/library.js';
import { ask_model, is_open, open_model } from 'book/trained_models.js';
import { in_words, models } from 'book/two_models.js';
import 'book/piano_roll.js';

const own = 'Your own melody';
const quarters_of_melody = 8;
const bars = ['2', '6', '14'];
const mean = 'all heads, their mean';
const named_keys = 3;
const percent = (weight) => `${(100 * weight).toFixed(0)} %`;

/// What is given of each token that a model writes: a soprano for each 16th under the melody, until its last note.
function given_soprano(melody) {
  const last = melody.findLastIndex((pitch) => pitch !== null), given = [];
  for (const pitch of melody.slice(0, last + 1))
    for (let n = 0; n < quarter; ++n) given.push(pitch === null ? '' : character_of(pitch), '', '', '');
  return given;
}

customElements.define('chorale-player', class extends HTMLElement {
  #text = '';        // the chorale so far, without the line feed before it
  #given = 0;        // how many of its tokens stood there before a model wrote
  #model = null;     // who wrote on
  #forced = [];      // what this model had to write, as the request has it
  #chosen = null;
  #attended = null;  // the answer about the chosen token
  #first = null;     // has the model write what came with the page, which then tells what it attended to
  #sound = new ChoraleSound();
  #place = 0;        // where playing goes on, in 16ths
  #frame = 0;
  #asked = 0;

  connectedCallback() {
    if (this.firstChild) return;
    const sliders = `
        <label>Temperature <input type="range" name="temperature" min="0" max="1.4" step="0.1" value="1"><output name="temperature"></output></label>
        <label>Seed <input type="number" name="seed" min="0" max="9999" value="1"></label>`;
    this.innerHTML = `
      <div class="controls">
        <label>Beginning <select name="beginning">${choices([...Object.keys(beginnings), own])}</select></label>
        <input type="hidden" name="melody">
        <label>Write on for <select name="bars">${choices(bars)}</select> bars</label>${sliders}
      </div>
      <div class="controls">
        <button type="button" name="relative">The relative model continues</button>
        <button type="button" name="absolute">The absolute model continues</button>
        <button type="button" name="play" class="primary">Play</button>
        <button type="button" name="rewind">From the start</button>
        <button type="button" name="erase">Erase what a model wrote</button>
      </div>
      <p role="alert" hidden></p>
      <p class="status" role="status"></p>
      <p class="voices">${voices.map((voice, n) => `<span style="--voice: var(--voice-${n})">${voice}</span>`).join('')}</p>
      <piano-roll></piano-roll>
      <p class="in-words"></p>
      <div class="controls">
        <label>Layer <select name="layer"></select></label>
        <label>Head <select name="head"></select></label>
      </div>
      <output class="roll-value"></output>`;
    part(this, 'bars').value = '6';
    for (const name of Object.keys(models)) part(this, name).addEventListener('click', () => attempt(this, () => this.#continue(name)));
    part(this, 'play').addEventListener('click', () => attempt(this, () => this.#play_or_pause()));
    part(this, 'rewind').addEventListener('click', () => this.#rewind());
    part(this, 'erase').addEventListener('click', () => this.#begin());
    part(this, 'beginning').addEventListener('change', () => this.#begin());
    part(this, 'melody').addEventListener('input', () => this.#draw());
    this.querySelector('[name=temperature]').addEventListener('input', () => this.#say_temperature());
    for (const name of ['layer', 'head']) part(this, name).addEventListener('change', () => this.#draw());
    this.#roll.addEventListener('choose', ({ detail }) => attempt(this, () => this.#choose(detail.token)));
    this.#roll.addEventListener('cell', ({ detail }) => this.#set_note(detail));
    this.#say_temperature();
    this.#begin();
    this.#show_first_take();
  }

  disconnectedCallback() { this.#pause(); }

  /// The chorale that shows, in the notation of book/chorale_notation.js.
  get text() { return this.#text; }

  get #roll() { return this.querySelector('piano-roll'); }
  get #edits() { return part(this, 'beginning').value === own && this.#model === null; }
  #say(text) { this.querySelector('.status').textContent = text; }

  #say_temperature() {
    this.querySelector('output[name=temperature]').textContent = Number(this.querySelector('input[name=temperature]').value).toFixed(1);
  }

  /// Shows a beginning that nobody has continued yet.
  #begin() {
    ++this.#asked;
    this.#pause();
    const name = part(this, 'beginning').value;
    this.#text = beginnings[name] ?? '';
    this.#given = this.#text.length;
    this.#model = this.#chosen = this.#attended = this.#first = null;
    this.#place = 0;
    this.#say(name === own ? 'Set a melody, a note for each quarter. The models then write the other voices, and write on.'
      : `${name}: Bach’s first ${steps_of(this.#text) / quarter} quarters. Who continues?`);
    this.#draw();
  }

  /// Shows what a model wrote when the page was made.
  #show_first_take() {
    const text = this.getAttribute('relative');
    if (text === null) return;
    const request = this.#request();
    this.#first = kept(() => ask_model(models.relative, request));
    this.#text = text;
    this.#model = 'relative';
    this.#say_first_take();
    this.#draw();
  }

  #say_first_take() {
    this.#say('Bach’s first two bars, and six that the relative model wrote when this page was made. Play them, or have a model write others.');
  }

  /// Loads the models while a reader listens; who asks them is told if that fails.
  #load() {
    for (const model of Object.values(models)) open_model(model).catch(() => {});
  }

  /// Loads a model that a reader waits for.
  async #open(name) {
    if (!is_open(models[name])) this.#say(`Loading the library and both models: ${this.getAttribute('megabytes')} MB, once.`);
    this.#load();
    await open_model(models[name]).catch((error) => {
      this.#say('');
      throw error;
    });
  }

  /// The pitch of each quarter that the reader has clicked in, or null.
  get #melody() {
    const pitches = part(this, 'melody').value.split(',');
    return Array.from({ length: quarters_of_melody }, (_, n) => pitches[n] ? Number(pitches[n]) : null);
  }

  #set_note({ quarter, pitch }) {
    part(this, 'melody').value = this.#melody.with(quarter, this.#melody[quarter] === pitch ? null : pitch).join();
    this.#draw();
  }

  #request() {
    const by_melody = part(this, 'beginning').value === own;
    const given = by_melody ? given_soprano(this.#melody) : [];
    const steps = Number(part(this, 'bars').value) * bar;
    return {
      do: 'write', prompt: begin + (by_melody ? '' : beginnings[part(this, 'beginning').value]), given,
      length: voices.length * steps + given.length, temperature: Number(this.querySelector('input[name=temperature]').value),
      top_p: 0.95, seed: Number(part(this, 'seed').value), stop: begin, observed: true,
    };
  }

  async #continue(name) {
    this.#pause();
    const asked = ++this.#asked, request = this.#request();
    if (part(this, 'beginning').value === own && !request.given.length) throw new Error('Set at least one note of a melody.');
    await this.#open(name);
    if (asked !== this.#asked) return;
    this.#say(`The ${name} model writes …`);
    const { text } = await ask_model(models[name], request);
    if (asked !== this.#asked) return;
    const before = request.prompt.slice(begin.length), ended = text.endsWith(begin);
    this.#text = before + (ended ? text.slice(0, -begin.length) : text);
    this.#given = before.length;
    this.#model = name;
    this.#first = null;
    this.#forced = request.given;
    this.#chosen = this.#attended = null;
    this.#place = 0;
    this.#say(`The ${name} model wrote ${this.#text.length - this.#given - request.given.filter(Boolean).length} tokens, four for each 16th` +
      `${ended ? ', and ended the chorale there' : ''}. Play it, or choose a note.`);
    this.#draw();
  }

  /// Whether a model chose a token.
  #was_chosen(token) { return this.#model !== null && token >= this.#given && !this.#forced[token - this.#given]; }

  /// Reads a token, and what its choice attended to.
  async #choose(token) {
    this.#chosen = token;
    this.#attended = null;
    this.#draw();
    const asked = ++this.#asked;
    if (!this.#was_chosen(token)) return;
    if (this.#first) {
      await this.#open(this.#model);
      if (asked !== this.#asked) return;
      this.#say('The relative model writes it again, to tell what each choice attended to …');
      await this.#first();
      if (asked !== this.#asked) return;
      this.#say_first_take();
    }
    const { layers } = await ask_model(models[this.#model], { do: 'attended', token: token - this.#given });
    if (asked !== this.#asked) return;
    this.#attended = layers;
    this.#draw();
  }

  /// The weights that the selects choose, with the tokens that they belong to. Token -1 is the line feed.
  #looks() {
    if (!this.#attended) return [];
    const { heads, mean: all } = this.#attended[part(this, 'layer').selectedIndex], head = part(this, 'head').selectedIndex;
    const weights = head === 0 ? all : heads[head - 1];
    return weights.map((weight, n) => ({ token: this.#chosen - weights.length + n, weight }));
  }

  #draw() {
    const layers = this.#attended?.length ?? 4, heads = this.#attended?.[0].heads.length ?? 5;
    choose(this, 'layer', undefined, Array.from({ length: layers }, (_, n) => `${n}`));
    choose(this, 'head', undefined, [mean, ...Array.from({ length: heads }, (_, n) => `${n}`)]);
    const looks = this.#looks();
    this.#roll.show({ text: this.#text, given: this.#given, chosen: this.#chosen, looks: looks.filter(({ token }) => token >= 0),
                      melody: this.#edits ? this.#melody : null });
    this.querySelector('.roll-value').textContent = this.#sentence(looks);
    this.querySelector('.in-words').textContent = this.#edits ? '' : in_words(this.#text);
    part(this, 'play').disabled = !can_play() || !this.#text;
    if (!can_play()) this.querySelector('.status').append(' This browser has no WebAudio, so the notes show but do not sound.');
  }

  #called(token) {
    return token < 0 ? 'the beginning of the chorale' : `${voices[token % voices.length]} ${name_of(pitch_of(this.#text[token]))}`;
  }

  #sentence(looks) {
    const token = this.#chosen;
    if (token === null) return this.#edits ? 'Arrow keys move the cell, Enter sets a note.' : 'Choose a note, with the arrow keys, too.';
    const step = Math.floor(token / voices.length);
    const where = `Bar ${Math.floor(step / bar) + 1}, quarter ${Math.floor(step % bar / quarter) + 1}, ${this.#called(token)}`;
    if (!looks.length) return this.#was_chosen(token) ? `${where}.` : `${where}: it was given.`;
    const best = looks.toSorted((a, b) => b.weight - a.weight).slice(0, named_keys);
    return `${where}. Its choice attended to ${best.map(({ token: key, weight }) =>
      `${this.#called(key)}, ${token - key} ${token - key === 1 ? 'token' : 'tokens'} back (${percent(weight)})`).join('; ')}.`;
  }

  #play_or_pause() {
    if (this.#frame) return this.#pause();
    this.#load();
    const steps = steps_of(this.#text), seconds = 60 / 72 / quarter;  // 72 quarters a minute
    if (this.#place >= steps) this.#place = 0;
    this.#sound.play(notes_of(this.#text), this.#place, seconds);
    part(this, 'play').textContent = 'Pause';
    const follow = () => {
      this.#place = Math.max(0, this.#sound.place);
      if (this.#place >= steps) return this.#pause();
      this.#roll.playhead(this.#place);
      this.#frame = requestAnimationFrame(follow);
    };
    this.#frame = requestAnimationFrame(follow);
  }

  #pause() {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    this.#sound.stop();
    part(this, 'play').textContent = 'Play';
  }

  #rewind() {
    this.#pause();
    this.#place = 0;
    this.#roll.playhead(0);
  }
});
