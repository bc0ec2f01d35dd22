// The line at the top of a chapter of the straight way (make/where.js) stays while one reads. Those parts of the score
// light up that the text names at the height where one reads, and those at which one points (page/meaning_marks.js).

import 'book/meaning_marks.js';

const strip = document.querySelector('.where');
const parts = [...strip.querySelectorAll('a')];
const blocks = [...document.querySelectorAll('main > *, .fold > *, main li')].filter((one) => one !== strip && !one.matches('.fold, ol, ul'));
const meaning_of = (one) => [...one.classList].find((name) => name.startsWith('means-'));
const named = new Map(blocks.map((one) => [one, new Set([...one.querySelectorAll('.katex [class*=means-], .still [class*=means-]')].map(meaning_of))]));

/// The part of the window in which a block is read, from its top.
const read = { from: 0.15, to: 0.5 };

function light() {
  const lit = new Set();
  for (const [block, meanings] of named) {
    if (!meanings.size) continue;
    const { top, bottom, height } = block.getBoundingClientRect();
    if (height && top < innerHeight * read.to && bottom > innerHeight * read.from) for (const one of meanings) lit.add(one);
  }
  for (const part of parts) part.classList.toggle('lit', lit.has(meaning_of(part)));
}

let waits = false;
function soon() {
  if (waits) return;
  waits = true;
  requestAnimationFrame(() => {
    waits = false;
    light();
  });
}

addEventListener('scroll', soon, { passive: true });
addEventListener('resize', soon);
light();
