// Two models of chorales, and how they go on from the same two bars: on the front page, and when the book is made.

import { beginnings } from 'book/chorale_beginnings.js';
import { bar, begin, is_off_beat, name_of, notes_of, steps_of, voices, written_notes } from 'book/chorale_notation.js';
import { comparing } from 'book/roll_drawing.js';

export const models = { relative: 'music_transformer', absolute: 'sinusoid' };

export const beginning = Object.values(beginnings)[0];
const bars_to_write = 6;

/// What a model is asked.
export const request = (seed) => ({
  do: 'write', prompt: begin + beginning, given: [], length: voices.length * bar * bars_to_write, temperature: 1, top_p: 0.95, seed, stop: begin,
});

/// The chorale so far, by the model's answer.
export const chorale = ({ text }) => beginning + text.replace(begin, '');

/// The roll of a chorale, with marks where notes begin between two eighths.
export const drawn = (text) => comparing.svg(text, beginning.length, comparing.notes(text, beginning.length) + comparing.marks(text, beginning.length));

/// The notes of a chorale as they are read aloud: "Bar 3: soprano C5 G4, alto E4, 2 notes off the beat."
export function in_words(text) {
  const notes = notes_of(text), bars = Array.from({ length: Math.ceil(steps_of(text) / bar) }, (_, n) =>
    notes.filter(({ start }) => Math.floor(start / bar) === n));
  return bars.map((all, n) => {
    const sung = voices.map((name, voice) => [name, ...all.filter((note) => note.voice === voice).map(({ pitch }) => name_of(pitch))])
      .filter(({ length }) => length > 1).map((names) => names.join(' '));
    const off = all.filter((note) => note.start >= beginning.length / voices.length && is_off_beat(note)).length;
    const said = off ? [`${off} ${off === 1 ? 'note' : 'notes'} off the beat`] : [];
    return `Bar ${n + 1}: ${[...sung, ...said].join(', ')}.`;
  }).join(' ');
}

/// How many notes a model began before a 16th, and how many of them between two eighths, in a sentence.
export function counted(text, before = Infinity) {
  const notes = written_notes(text, beginning.length).filter(({ start }) => start < before), off = notes.filter(is_off_beat).length;
  if (!notes.length) return 'no note yet misses the beat';
  return `<b>${off}</b> of ${notes.length} notes miss the beat: ${(100 * off / notes.length).toFixed(1)}\u00a0%`;
}
