// Debian's chromium, as the checks start it. CHROMIUM=PROGRAM starts another one.

const { chromium } = require(process.env.PLAYWRIGHT ?? 'playwright-core');
const { most_wait } = require('./waiting.js');

const program = process.env.CHROMIUM ?? '/usr/bin/chromium';

/// A browser all of whose pages, also those that a check opens, wait for as long as a slow machine may need.
async function launch() {
  const browser = await chromium.launch({ executablePath: program, args: ['--no-sandbox'], timeout: most_wait });
  const new_context = browser.newContext.bind(browser);
  browser.newContext = async (options) => {
    const context = await new_context(options);
    context.setDefaultTimeout(most_wait);
    return context;
  };
  return browser;
}

module.exports = { launch };
