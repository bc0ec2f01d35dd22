// Debian's chromium, as the checks start it: its shell without windows where that is installed, which opens a page in half
// the CPU time. CHROMIUM=PROGRAM starts another one.

const fs = require('node:fs');
const { chromium } = require(process.env.PLAYWRIGHT ?? 'playwright-core');
const { most_wait } = require('./waiting.js');

const program = process.env.CHROMIUM ??
  ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'].find((file) => fs.existsSync(file));

/// A browser all of whose pages, also those that a check opens, wait for as long as a slow machine may need.
async function launch() {
  const browser = await chromium.launch({ executablePath: program, args: ['--no-sandbox', '--font-render-hinting=none'], timeout: most_wait });
  const new_context = browser.newContext.bind(browser);
  browser.newContext = async (options) => {
    const context = await new_context(options);
    context.setDefaultTimeout(most_wait);
    return context;
  };
  return browser;
}

module.exports = { launch };
