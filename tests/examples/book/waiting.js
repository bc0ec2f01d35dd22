// How the checks wait: figures compute in a worker, which answers in turn and in its own time.

const most_wait = 10000;  // milliseconds

/// Reads until what is read holds, or for that long. Returns what was read last.
async function until(page, read, holds = Boolean, milliseconds = most_wait) {
  for (const begin = Date.now(); ; await page.waitForTimeout(20)) {
    const now = await read();
    if (holds(now) || Date.now() - begin > milliseconds) return now;
  }
}

/// Waits until the page's library has answered what it was asked, and what a figure asks with that answer: the
/// drawing of the numbers that it got.
function answered(page) {
  return page.evaluate(async () => {
    const has_library = document.querySelector('script[src="study.js"]');
    for (let round = 0; round < 2; ++round) {
      if (has_library) await (await import('book/library.js')).ask({ do: 'nothing' }).catch(() => {});
      await new Promise(requestAnimationFrame);
    }
  });
}

/// Waits until the page's figures have drawn what they begin with, and nothing moves.
async function settled(page) {
  await page.evaluate(async () => {
    for (const { localName } of document.querySelectorAll('main *'))
      if (localName.includes('-')) await customElements.whenDefined(localName);
  });
  const body = () => page.evaluate(() => document.body.innerHTML);
  for (let before = ''; before !== await body(); await answered(page)) before = await body();
  await page.evaluate(async () => {
    for (const { finished } of document.getAnimations()) await finished.catch(() => {});
  });
}

module.exports = { answered, most_wait, settled, until };
