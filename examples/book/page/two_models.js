// Two models of chorales, and how they go on from the same two bars: on the front page, and when the book is made.

import { beginnings } from 'book/chorale_beginnings.js';
import { bar, begin, is_off_beat, voices, written_notes } from 'book/chorale_notation.js';
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

/// How many notes a model began before a 16th, and how many of them between two eighths, in a sentence.
export function counted(text, before = Infinity) {
  const notes = written_notes(text, beginning.length).filter(({ start }) => start < before), off = notes.filter(is_off_beat).length;
  if (!notes.length) return 'no note yet misses the beat';
  return `<b>${off}</b> of ${notes.length} notes miss the beat: ${(100 * off / notes.length).toFixed(1)}\u00a0%`;
}
