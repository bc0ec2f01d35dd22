// How the checks wait: figures compute in a worker, which answers in turn and in its own time.

// How long nothing may change before a check says that what it waits for does not come. A machine may be slow, so no
// check judges how long something takes.
const most_wait = 600000;  // milliseconds

/// Reads until what is read holds, or does not change for that long. Returns what was read last.
async function until(page, read, holds = Boolean) {
  let before;
  for (let begin = Date.now(); ; await page.waitForTimeout(20)) {
    const now = await read(), text = JSON.stringify(now);
    if (holds(now)) return now;
    if (Date.now() - begin > most_wait) {
      console.log(`waited ${most_wait / 1000} s in vain`);
      return now;
    }
    if (text !== before) begin = Date.now();
    before = text;
  }
}

/// In the page: waits until its library has answered what it was asked, and what a figure asks with that answer: the
/// drawing of the numbers that it got. With `still`, until the figures have drawn what they begin with, and nothing moves.
async function wait(still) {
  const has_library = document.querySelector('script[src="study.js"]');
  const answered = async () => {
    for (let round = 0; round < 2; ++round) {
      if (has_library) await (await import('book/library.js')).ask({ do: 'nothing' }).catch(() => {});
      await new Promise(requestAnimationFrame);
    }
  };
  if (!still) return answered();
  for (const { localName } of document.querySelectorAll('main *'))
    if (localName.includes('-')) await customElements.whenDefined(localName);
  for (let before = ''; before !== document.body.innerHTML; await answered()) before = document.body.innerHTML;
  for (const { finished } of document.getAnimations()) await finished.catch(() => {});
}

const answered = (page) => page.evaluate(wait, false);
const settled = (page) => page.evaluate(wait, true);

module.exports = { answered, most_wait, settled, until };
