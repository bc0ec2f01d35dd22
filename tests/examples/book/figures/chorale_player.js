// <chorale-player>: both models write on what the program `study` writes natively, the roll shows it note for note, all
// notes are handed to WebAudio, and what a note attended to sums to 1. A melody is clicked in by the keyboard.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

const files = path.resolve(__dirname, '../../../../examples/studies/bach/book');
const models = { relative: 'music_transformer', absolute: 'sinusoid' };

/// Counts what is played in place of playing it.
function count_oscillators() {
  const parameter = { setValueAtTime() {}, linearRampToValueAtTime() {} };
  globalThis.played = [];
  globalThis.AudioContext = class {
    currentTime = 0;
    resume() {}
    createGain() { return { gain: parameter, connect() {} }; }
    createOscillator() {
      const one = { frequency: {}, connect() {}, disconnect() {}, start(at) { one.on = at; }, stop(at) { one.off = at; } };
      globalThis.played.push(one);
      return one;
    }
  };
}

/// What the player asks and shows: the request, the notes of the text by the page's own notation, and those of the roll.
const state = (figure) => figure.evaluate((one) => ({
  status: one.querySelector('.status').textContent,
  shown: [...one.querySelectorAll('.note')].map((note) => note.getAttribute('class').split(' ')[1]),
  said: one.querySelector('.roll-value').textContent,
}));

async function wrote(figure, name) {
  await figure.locator(`[name=${name}]`).press('Enter');
  await figure.locator('.status', { hasText: `${name} model wrote` }).waitFor();
}

/// What `study` writes natively where NATIVE names it, or else the page's own library.
async function written(page, name, request) {
  const requests = [{ do: 'open', file: fs.readFileSync(path.join(files, `${models[name]}.safetensors`)).toString('base64') }, request];
  if (process.env.NATIVE) {
    const [program, ...instruction_set] = process.env.NATIVE.split(' ');
    const lines = execFileSync(program, instruction_set, { input: requests.map((one) => JSON.stringify(one) + '\n').join('') });
    return JSON.parse(String(lines).trim().split('\n')[1]).text;
  }
  return page.evaluate(async ([name, request]) => (await (await import('book/trained_models.js')).ask_model(name, request)).text, [models[name], request]);
}

async function check_continuation(page, figure, name, offend) {
  await wrote(figure, name);
  const { prompt, given } = await page.evaluate(async () => {
    const { beginnings } = await import('book/chorale_beginnings.js');
    const prompt = Object.values(beginnings)[0];
    return { prompt, given: prompt.length };
  });
  const text = await written(page, name, {
    do: 'write', prompt: '\n' + prompt, given: [], length: 128, temperature: 1, top_p: 0.95, seed: 1, stop: '\n', observed: true,
  });
  const shown = await figure.evaluate((one) => one.text);
  if (shown !== prompt + text.replace('\n', '')) offend(`${name}: the page wrote ${shown.slice(given)}, expected ${text}`);
  const notes = await page.evaluate(async ([a, b]) => {
    const { notes_of } = await import('book/chorale_notation.js');
    return [notes_of(a).length, notes_of(b).length, notes_of(a + b).length];
  }, [prompt, text.replace('\n', '')]);
  const kinds = (await state(figure)).shown, of = (kind) => kinds.filter((one) => one === kind).length;
  if (of('given') !== notes[0] || of('written') !== notes[1]) offend(`${name}: ${of('given')} and ${of('written')} notes, expected ${notes}`);
  return { notes: notes[2], written: text };
}

/// A chosen note shows whole weights: those of the keys sum to 1 but for the line feed before all notes.
async function check_looks(page, figure, offend) {
  const roll = figure.locator('.roll');
  await roll.focus();
  await page.keyboard.press('ArrowRight');
  for (let n = 0; n < 3; ++n) await page.keyboard.press('ArrowRight');
  await figure.locator('.roll-value', { hasText: 'attended to' }).waitFor();
  const first = await state(figure);
  if (!first.said.startsWith('Bar 3, quarter 1, soprano')) offend(`three 16ths on: ${first.said}`);
  const { layers } = await figure.evaluate(async (one) =>
    (await import('book/trained_models.js')).ask_model('sinusoid', { do: 'attended', token: 12 }));
  for (const { heads, mean } of layers) {
    for (const weights of heads) {
      const sum = weights.reduce((a, b) => a + b);
      if (weights.length !== 129 + 12 || Math.abs(sum - 1) > 1e-5) offend(`${weights.length} weights sum to ${sum}`);
    }
    if (mean.some((value, n) => Math.abs(value - heads.reduce((sum, weights) => sum + weights[n], 0) / heads.length) > 1e-6)) offend('the mean of the heads is another');
  }
  const widths = await figure.locator('.looks').evaluateAll((arcs) => arcs.map((arc) => parseFloat(getComputedStyle(arc).strokeWidth)));
  const weights = layers[0].mean.slice(1).sort((a, b) => b - a).slice(0, 8);  // the first is of no note
  if (widths.join() !== weights.map((weight) => Number((7 * weight).toFixed(2))).join()) offend(`arcs are ${widths} wide for weights of ${weights}`);
  if (await figure.locator('.looked-at').count() !== widths.length) offend('not each arc ends in a frame');
  await figure.locator('[name=head]').selectOption('4');
  if ((await state(figure)).said === first.said) offend(`head 4 looks where all look: ${first.said}`);
  await roll.focus();
  await page.keyboard.press('ArrowDown');
  await figure.locator('.roll-value', { hasText: 'alto' }).waitFor();
  for (let n = 0; n < 4; ++n) await page.keyboard.press('ArrowLeft');
  if (!(await state(figure)).said.includes('it was given')) offend(`in the beginning: ${(await state(figure)).said}`);
}

/// What the chapter says of the relative model: head 4 of layer 0 looks at the same voice, four tokens back.
async function check_head(figure, offend) {
  for (const token of [40, 41, 42, 43]) {
    const { layers } = await figure.evaluate(async (_, token) =>
      (await import('book/trained_models.js')).ask_model('music_transformer', { do: 'attended', token }), token);
    const weight = layers[0].heads[4].at(-4);
    if (!(weight > 0.8)) offend(`head 4 of layer 0 has ${weight} four tokens before token ${token}`);
  }
}

async function check_sound(page, figure, notes, offend) {
  await figure.locator('[name=play]').press('Enter');
  const played = await page.evaluate(() => globalThis.played.map(({ on, off, frequency }) => ({ on, off, hertz: frequency.value })));
  if (played.length !== notes) offend(`${played.length} oscillators for ${notes} notes`);
  if (played.some(({ on, off, hertz }) => !(off > on && on > 0 && hertz > 60 && hertz < 900))) offend(`played: ${JSON.stringify(played.slice(0, 4))}`);
  const sounds = async () => await figure.locator('[name=play]').textContent() === 'Pause';
  if (!await sounds()) offend('nothing plays');
  await figure.locator('[name=play]').press('Enter');
  if (await sounds()) offend('Pause goes on');
}

async function check_melody(page, figure, offend) {
  await figure.locator('[name=beginning]').selectOption('Your own melody');
  await figure.locator('[name=relative]').press('Enter');
  await figure.locator('[role=alert]', { hasText: 'at least one note' }).waitFor();
  await figure.locator('.roll').focus();
  for (const key of ['Enter', 'ArrowRight', 'ArrowUp', 'ArrowUp', 'Enter']) await page.keyboard.press(key);
  const cells = figure.locator('.melody-cells');
  const box = await cells.boundingBox();
  await cells.click({ position: { x: box.width * 2.5 / 8, y: box.height / 2 } });
  if (await figure.locator('.clicked').count() !== 3) offend(`${await figure.locator('.clicked').count()} notes clicked in, expected 3`);
  await wrote(figure, 'relative');
  const soprano = await figure.evaluate((one) => [...one.text].filter((_, n) => n % 4 === 0).slice(0, 12).join(''));
  if (!/^HHHHJJJJ(.)\1{3}$/.test(soprano)) offend(`the soprano is ${soprano}, expected the melody`);
  if (await figure.locator('[role=alert]').isVisible()) offend(await figure.locator('[role=alert]').textContent());
  // The melody is part of the figure's address, to which a page can go without being loaded anew.
  const address = await page.evaluate(async () =>
    (await import('book/figure_address.js')).address_of(document.querySelector('main figure:has(chorale-player)')));
  const beginning = figure.locator('[name=beginning]');
  await beginning.selectOption({ index: 0 });
  if (await figure.locator('.clicked').count()) offend('a melody shows that was not asked for');
  await figure.locator('[name=melody]').evaluate((one) => { one.value = ''; });
  await page.evaluate((hash) => { location.hash = hash; }, address);
  await figure.locator('.clicked').nth(2).waitFor();
  if (await beginning.inputValue() !== 'Your own melody') offend(`${address} begins with ${await beginning.inputValue()}`);
}

module.exports = async (page, figure, offend) => {
  await page.evaluate(count_oscillators);
  await figure.locator('[name=bars]').selectOption('2');
  const relative = await check_continuation(page, figure, 'relative', offend);
  const absolute = await check_continuation(page, figure, 'absolute', offend);
  if (relative.written === absolute.written) offend('both models write the same');
  await check_looks(page, figure, offend);
  await check_head(figure, offend);
  await check_sound(page, figure, absolute.notes, offend);
  await check_melody(page, figure, offend);
};

Object.assign(module.exports, { count_oscillators, models, written });
