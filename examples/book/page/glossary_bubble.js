// A word of the glossary, pressed, says what it is in a bubble, from which a link leads on. The page stays where it is.
// Escape, or a press elsewhere, closes the bubble.

import { element } from 'book/elements.js';

let open = null;  // {word, bubble}

function close() {
  open?.bubble.remove();
  open?.word.setAttribute('aria-expanded', 'false');
  open = null;
}

function say(word) {
  const bubble = element('span', `${word.title} `, { class: 'glossary-bubble', role: 'status' });
  bubble.append(element('a', 'In the glossary', { href: word.getAttribute('href') }));
  word.after(bubble);
  word.setAttribute('aria-expanded', 'true');
  open = { word, bubble };
}

document.addEventListener('click', (event) => {
  if (event.target.closest('.glossary-bubble')) return;
  const word = event.target.closest('.glossary-word'), was_open = open?.word;
  close();
  if (!word || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  if (word !== was_open) say(word);
});
document.addEventListener('keydown', ({ key }) => {
  if (key !== 'Escape' || !open) return;
  open.word.focus();
  close();
});
for (const word of document.querySelectorAll('.glossary-word')) word.setAttribute('aria-expanded', 'false');
