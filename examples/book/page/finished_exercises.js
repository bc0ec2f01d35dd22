// Which exercises a reader has solved. The browser keeps it, and the contents have a tick at each chapter whose exercises
// are all among them.

const key = 'exercises';

/// The names of those that were solved. A browser may refuse to keep anything.
export function finished() {
  try {
    return new Set(JSON.parse(localStorage.getItem(key) ?? '[]'));
  } catch {
    return new Set();
  }
}

/// Marks the chapters whose exercises are all solved.
function mark() {
  const done = finished();
  for (const row of document.querySelectorAll('[data-exercises]')) {
    const names = row.dataset.exercises.split(' '), count = names.filter((name) => done.has(name)).length;
    row.classList.toggle('finished', count === names.length);
    if (count === names.length) row.title = 'You have solved all exercises of this chapter.';
  }
}

export function note_finished(name) {
  try {
    localStorage.setItem(key, JSON.stringify([...finished().add(name)]));
  } catch { /* it is not kept */ }
  mark();
}

mark();
