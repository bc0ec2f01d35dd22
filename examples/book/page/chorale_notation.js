// The notation of chorales as text, as examples/studies/bach writes it: 16th by 16th, in each the four voices from the soprano
// down. A pitch is the character with its MIDI number in ASCII; a space is a rest.

export const voices = ['soprano', 'alto', 'tenor', 'bass'];
export const quarter = 4, bar = 4 * quarter;  // in 16ths
export const lowest = 36, highest = 81;
export const begin = '\n';  // stands before and after each chorale

export const pitch_of = (character) => character === ' ' ? null : character.charCodeAt(0);
export const character_of = (pitch) => String.fromCharCode(pitch);

/// The number of 16ths of a text.
export const steps_of = (text) => Math.floor(text.length / voices.length);

/// What a pitch is called: C4 is the middle one.
export function name_of(pitch) {
  const names = ['C', 'C♯', 'D', 'E♭', 'E', 'F', 'F♯', 'G', 'A♭', 'A', 'B♭', 'B'];
  return pitch === null ? 'rest' : `${names[pitch % 12]}${Math.floor(pitch / 12) - 1}`;
}

/// The notes {voice, pitch, start, end} of a text, in 16ths. Equal pitches in a row are one note.
export function notes_of(text) {
  const notes = [], steps = steps_of(text);
  for (let voice = 0; voice < voices.length; ++voice)
    for (let start = 0, step = 1; step <= steps; ++step) {
      const before = text[start * voices.length + voice];
      if (step < steps && text[step * voices.length + voice] === before) continue;
      if (before !== ' ') notes.push({ voice, pitch: pitch_of(before), start, end: step });
      start = step;
    }
  return notes;
}

/// The notes of a text that begin behind its first tokens.
export const written_notes = (text, given) => notes_of(text).filter(({ start }) => start >= given / voices.length);

/// Whether a note begins between two eighths.
export const is_off_beat = ({ start }) => start % (quarter / 2) !== 0;
