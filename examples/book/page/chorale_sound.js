// Plays notes by WebAudio: an oscillator for each, which swells and fades.

const swell = 0.03, fade = 0.06;  // seconds
export const delay = 0.1;  // seconds from play() to the first note
const loudness = 0.18;

export const can_play = () => typeof globalThis.AudioContext === 'function';

const frequency = (pitch) => 440 * 2 ** ((pitch - 69) / 12);

export class ChoraleSound {
  #context = null;
  #oscillators = [];
  #began = 0;  // when the first 16th would have sounded
  #seconds = 0;

  /// Plays notes {pitch, start, end} from a 16th on, each of so many seconds.
  play(notes, from, seconds) {
    this.stop();
    this.#context ??= new AudioContext();
    this.#context.resume();
    this.#seconds = seconds;
    this.#began = this.#context.currentTime + delay - from * seconds;
    for (const note of notes) if (note.end > from) this.#add(note, Math.max(note.start, from));
  }

  #add({ pitch, end }, start) {
    const oscillator = this.#context.createOscillator(), volume = this.#context.createGain();
    const [on, off] = [start, end].map((step) => this.#began + step * this.#seconds);
    oscillator.type = 'triangle';
    oscillator.frequency.value = frequency(pitch);
    volume.gain.setValueAtTime(0, on);
    volume.gain.linearRampToValueAtTime(loudness, on + swell);
    volume.gain.setValueAtTime(loudness, Math.max(on + swell, off - fade));
    volume.gain.linearRampToValueAtTime(0, off);
    oscillator.connect(volume);
    volume.connect(this.#context.destination);
    oscillator.start(on);
    oscillator.stop(off);
    this.#oscillators.push(oscillator);
  }

  /// The 16th that sounds now.
  get place() { return (this.#context.currentTime - this.#began) / this.#seconds; }

  stop() {
    for (const oscillator of this.#oscillators) oscillator.disconnect();
    for (const oscillator of this.#oscillators) oscillator.stop();
    this.#oscillators = [];
  }
}
