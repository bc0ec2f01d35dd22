// Works each control of each figure by the keyboard alone: its value changes, and the figure shows something else
// for at least one of its values. A figure with a check of its own in figures/ has its controls worked there.

const fs = require('node:fs');
const path = require('node:path');
const { settled, until } = require('./waiting.js');

/// What a figure shows: its words and its drawings.
const shown = (figure) => figure.evaluate((one) => one.innerHTML);

const has_check = (name) => fs.existsSync(path.join(__dirname, 'figures', `${name.replaceAll('-', '_')}.js`));

/// The keys that change a control.
function keys_of({ tag, type }) {
  if (type === 'checkbox') return ['Space'];
  if (type === 'radio') return ['ArrowRight', 'ArrowRight'];
  if (type === 'range') return ['ArrowRight', 'ArrowLeft', 'ArrowLeft'];
  if (tag === 'select') return ['ArrowDown', 'ArrowDown', 'ArrowUp', 'ArrowUp'];
  return [];
}

async function work(page, figure, control, what, offend) {
  const value = () => control.evaluate((one) => one.type === 'checkbox' ? one.checked
    : one.type === 'radio' ? document.querySelector(`input[name="${one.name}"]:checked`)?.value : one.value);
  const kind = await control.evaluate((one) => ({
    tag: one.localName, type: one.type, choices: one.localName === 'select' ? one.options.length : 2,
  }));
  const keys = keys_of(kind);
  if (!keys.length || kind.choices < 2 || !(await control.isVisible()) || await control.isDisabled()) return;
  const values = new Set([await value()]), pictures = new Set([await shown(figure)]);
  await control.focus();
  for (const key of keys) {
    await page.keyboard.press(key);
    await settled(page);
    pictures.add(await shown(figure));
    values.add(await value());
  }
  if (pictures.size < 2) await until(page, async () => pictures.add(await shown(figure)).size > 1);
  if (values.size < 2) offend(`${what}: no key changes it`);
  else if (pictures.size < 2) offend(`${what}: the figure shows the same for ${[...values].join(', ')}`);
}

/// Figures with a check of their own work their controls there. Returns whether there are others.
async function check_controls(page, offend) {
  let others = false;
  const names = await page.evaluate(() =>
    [...document.querySelectorAll('main *')].map((one) => one.localName).filter((name) => name.includes('-')));
  for (const name of new Set(names)) {
    if (has_check(name)) continue;
    const figures = page.locator(`main ${name}`);
    for (let n = 0; n < await figures.count(); ++n) {
      const figure = figures.nth(n);
      const controls = figure.locator('input, select');
      for (let c = 0; c < await controls.count(); ++c) {
        others = true;
        const control = controls.nth(c);
        const what = await control.evaluate((one) => one.labels?.[0]?.textContent.trim().slice(0, 40) ?? one.outerHTML);
        await work(page, figure, control, `${name} ${n}, control "${what}"`, offend);
      }
    }
  }
  return others;
}

module.exports = { check_controls };
