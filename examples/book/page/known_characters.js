// A text that a reader types for a model which knows the characters of its own text and no others.

import { written } from 'book/elements.js';

/// Returns the text for a model that was trained on another one. A capital letter that the model lacks becomes a small
/// one. Throws a sentence where there is nothing, or a character that the model does not know.
export function known_characters(text, trained) {
  const knows = (letter) => trained.includes(letter);
  const letters = [...text].map((letter) => knows(letter) ? letter : letter.toLowerCase());
  if (!letters.length) throw new Error('Type one character or more.');
  const unknown = [...new Set(letters.filter((letter) => !knows(letter)))].slice(0, 5);
  if (unknown.length) throw new Error(`The model does not know ${unknown.map((letter) => `“${written(letter)}”`).join(', ')}: its text has no such character.`);
  return letters.join('');
}
