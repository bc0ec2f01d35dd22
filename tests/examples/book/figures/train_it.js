// <train-it> by keyboard: the first step comes, the loss falls, the page draws frames meanwhile, a second variant
// trains beside the first, and a training has the losses of the library outside a browser.

const { execFileSync } = require('node:child_process');
const { opened_again } = require('../addresses.js');
const { until } = require('../waiting.js');

const steps = 100, tolerance = 1e-4;

const step_of = (figure) => figure.evaluate((one) => one.run?.step ?? 0);
const losses_of = (figure) => figure.evaluate((one) => one.run.losses);

/// In the page: a training waits for the next press of its button, however late it comes, and counts the batches of
/// steps that it begins after that.
function wait_for_press(one) {
  const { run } = one, some = run.some;
  const pressed = new Promise((resolve) => {
    one.querySelector('[name=train]').addEventListener('click', () => {
      run.begun_after_press = 0;
      resolve();
    }, { once: true });
  });
  run.some = async function (...all) {
    ++run.begun_after_press;  // not a number before the press
    await pressed;
    return some.apply(this, all);
  };
}

/// Waits until a training that was paused makes no more steps.
async function stopped(page, figure) {
  for (let before = -1; ; await page.waitForTimeout(1000)) {
    const now = await step_of(figure);
    if (now === before) return;
    before = now;
  }
}

async function press(page, figure, name) {
  await figure.locator(`[name=${name}]`).focus();
  await page.keyboard.press('Enter');
}

/// The same requests to the program `study` that NATIVE names, which computes as WebAssembly does.
async function check_native(page, offend) {
  if (!process.env.NATIVE) return;
  const requests = await page.evaluate(async (steps) => {
    const { begin } = await import('book/variants.js');
    const { texts } = await import('book/texts.js');
    return [begin('Transformer-XL', Object.values(texts)[0]), { do: 'train', steps }];
  }, steps);
  const [program, ...instruction_set] = process.env.NATIVE.split(' ');
  const lines = execFileSync(program, instruction_set, { input: requests.map((one) => JSON.stringify(one) + '\n').join('') });
  const native = JSON.parse(String(lines).trim().split('\n')[1]).losses;
  const ours = await page.evaluate(async (requests) => {
    const { Library } = await import('book/library.js');
    const library = new Library();
    await library.ask(requests[0]);
    const { losses } = await library.ask(requests[1]);
    library.close();
    return losses;
  }, requests);
  const [a, b] = [ours.at(-1), native.at(-1)];
  console.log(`train-it: loss ${a} after ${steps} steps, ${b} natively`);
  if (!(Math.abs(a - b) <= tolerance)) offend(`loss ${a} after ${steps} steps, natively ${b}`);
}

/// All heads of all layers are there small, and one that is pressed shows large.
async function check_heads(page, figure, offend) {
  const maps = figure.locator('map-choice button');
  const names_of = (all) => all.evaluateAll((buttons) => buttons.map(({ ariaLabel }) => ariaLabel));
  const names = await names_of(maps);
  const layers = await figure.locator('[name=layer] option').count(), heads = await figure.locator('[name=head] option').count();
  if (names.length !== layers * heads) offend(`${names.length} small maps, expected ${layers} times ${heads}: ${names}`);
  await maps.last().focus();
  await page.keyboard.press('Enter');
  const title = () => figure.locator('.weights .title').textContent();
  if (!await until(page, async () => (await title()).toLowerCase() === names.at(-1))) offend(`${names.at(-1)} shows "${await title()}"`);
  if ((await names_of(figure.locator('map-choice [aria-pressed=true]'))).join() !== names.at(-1)) offend('the small map is not pressed');
}

/// Without a character that the model knows there is a sentence in place of the maps. A capital that it lacks is small.
async function check_characters(page, figure, offend) {
  const input = figure.locator('[name=looked_at]'), before = await input.inputValue(), said = figure.locator('.no-attention');
  const type = async (text) => {
    await input.fill(text);
    await input.press('Tab');
  };
  for (const [text, sentence] of [['', /^Type one character or more\.$/], ['the 🙂', /does not know “🙂”/]]) {
    await type(text);
    if (!await until(page, async () => sentence.test(await said.textContent()) && await said.isVisible())) offend(`of "${text}" it says ${await said.textContent()}`);
    if (await figure.locator('.weights').isVisible()) offend(`beside "${text}" the map of before stays`);
  }
  for (const [text, names] of [['CAT', 'caT'], [before, before.replaceAll(' ', '␣')]]) {
    await type(text);
    const named = async () => (await figure.locator('.weights .names').first().locator('text').allTextContents()).join('');
    if (!await until(page, async () => await named() === names && await figure.locator('.weights').isVisible())) offend(`"${text}" is read as "${await named()}"`);
  }
}

/// The address of the figure is the experiment: trained from there, a model has the same losses, to the bit, and the
/// figure shows the same head and the same table.
async function check_address(page, figure, offend) {
  for (const name of ['layer', 'table']) {
    await figure.locator(`[name=${name}]`).focus();
    await page.keyboard.press('ArrowDown');
  }
  const choices = (of) => of.evaluate((one) => ['variant', 'text', 'looked_at', 'layer', 'head', 'table']
    .map((name) => one.querySelector(`[name=${name}]`).value));
  const expected = await choices(figure);
  const other = await opened_again(page, figure), address = new URL(other.url()).hash;
  const same = other.locator('main train-it');
  await press(other, same, 'train');
  const found = await until(other, () => choices(same), (now) => now.join() === expected.join());
  if (found.join() !== expected.join()) offend(`${address} shows ${found}, expected ${expected}`);
  const [again, first] = [await losses_of(same), await losses_of(figure)], both = Math.min(again.length, first.length);
  if (!both || again.slice(0, both).join() !== first.slice(0, both).join()) offend(`${address} trains another model`);
  await other.close();
}

module.exports = async (page, figure, offend) => {
  const reaches = async (step) => await until(page, () => step_of(figure), (now) => now >= step) >= step;
  await press(page, figure, 'train');
  const begin = Date.now();
  if (!await reaches(1)) offend('no step');
  console.log(`train-it: first steps after ${Date.now() - begin} ms`);

  const slowest = await page.evaluate(() => new Promise((resolve) => {
    const begin = performance.now();
    let last = begin, most = 0;
    const frame = (now) => {
      most = Math.max(most, now - last);
      last = now;
      if (now - begin > 3000) resolve(most); else requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  }));
  console.log(`train-it: longest frame ${slowest.toFixed(0)} ms, ${await figure.evaluate((one) => one.run.speed.toFixed(1))} steps a second`);

  if (!await reaches(steps)) offend(`fewer than ${steps} steps`);
  const losses = await losses_of(figure);
  if (!(losses[steps - 1] < losses[0] - 0.5)) offend(`the loss goes from ${losses[0]} to ${losses[steps - 1]}`);
  const scored = await figure.evaluate((one) => one.run.scored);
  if (!(scored.losses.at(-1) < scored.losses[0])) offend(`the loss of the unseen text goes from ${scored.losses[0]} to ${scored.losses.at(-1)}`);
  await figure.evaluate(wait_for_press);
  await press(page, figure, 'train');  // pause
  await stopped(page, figure);
  const begun = await figure.evaluate((one) => one.run.begun_after_press);
  if (begun !== 0) offend(`a pause is followed by ${begun} batches of steps, expected none`);
  if (await figure.locator('[name=train]').textContent() !== 'Go on') offend('the button of a pause is not "Go on"');
  if (!(await figure.locator('.written').textContent()).length) offend('nothing is written');

  const map = figure.locator('.weights [tabindex]');
  await map.focus();
  await page.keyboard.press('ArrowRight');
  if (!/query .*key .*\d/.test(await figure.locator('.weights output').textContent())) offend('the map says no value on focus');
  const characters = await figure.locator('[name=looked_at]').inputValue();
  for (const [n, axis] of ['row', 'column'].entries()) {
    const named = (await figure.locator('.weights .names').nth(n).locator('text').allTextContents()).join('');
    if (named !== characters.replaceAll(' ', '␣')) offend(`the ${axis}s are named "${named}", expected "${characters}"`);
  }
  for (const name of ['layer', 'head', 'table']) {
    const before = await figure.evaluate((one) => one.innerText);
    await figure.locator(`[name=${name}]`).focus();
    await page.keyboard.press('ArrowDown');
    if (!await until(page, async () => await figure.evaluate((one) => one.innerText) !== before)) offend(`"${name}" changes nothing`);
  }

  await check_heads(page, figure, offend);
  await check_characters(page, figure, offend);

  const variants = await figure.locator('[name=variant] option').allTextContents();
  for (const variant of variants.slice(1)) {
    await figure.locator('[name=variant]').selectOption(variant);
    await press(page, figure, 'train');
    if (!await until(page, async () => await figure.evaluate((one) => one.run.name).then((name) => name.startsWith(`${variant} on `)) && await step_of(figure) > 1))
      offend(`${variant} does not train: ${await figure.locator('[role=alert]').first().textContent()}`);
  }
  const legend = await figure.locator('.loss output').textContent();
  if (!legend.includes('before')) offend(`no earlier training beside the last: ${legend}`);
  await check_native(page, offend);

  // The model that other figures of the page take apart.
  await figure.locator('[name=variant]').selectOption(variants[0]);
  await press(page, figure, 'train');
  await reaches(steps);
  await press(page, figure, 'train');
  await stopped(page, figure);
  await check_address(page, figure, offend);
};
