// <run-report>, the page that char_lm report writes: its maps and curves read the numbers that are in it, its controls
// show others, and all of that by the keyboard.

const numbers = (text) => (text.match(/-?\d+(\.\d+)?(e-?\d+)?/g) ?? []).map(Number);

async function check_maps(page, report, offend) {
  const section = report.locator('section:has(#attention)');
  if (!await section.count() || !await section.locator('heat-map').count()) return;
  for (const name of ['layer', 'head']) {
    await section.locator(`[name=${name}]`).focus();
    await page.keyboard.press('ArrowDown');
  }
  const maps = section.locator('heat-map');
  await maps.first().locator('.map-cells').focus();
  for (const key of ['ArrowUp', 'ArrowUp', 'ArrowRight']) await page.keyboard.press(key);
  const read = await maps.evaluateAll((all) => all.map((one) => one.querySelector('.map-value').textContent));
  const expected = await report.evaluate((one) => one.report.runs.filter(({ attention }) => Array.isArray(attention)).map((run) => {
    const { queries, keys, layers } = run.attention[0];
    const layer = layers[Math.min(1, layers.length - 1)];
    return layer[Math.min(1, layer.length - 1)].weights[(queries.length - 3) * keys.length + 1] / 1000;
  }));
  const shown = numbers(read[0]).at(-1);
  if (Math.abs(shown - expected[0]) > 5e-4) offend(`the map says ${read[0]}, expected ${expected[0]}`);
  const marked = await section.locator('.marked').count();
  if (marked < 2) offend(`${marked} tokens are marked, expected a query and a key`);
  for (const [n, value] of read.entries())
    if (value && Math.abs(numbers(value).at(-1) - expected[n]) > 5e-4) offend(`map ${n} says ${value}, expected ${expected[n]}`);
}

async function check_losses(page, report, offend) {
  const section = report.locator('section:has(#losses)');
  await section.locator('[name=kind]').focus();
  await page.keyboard.press('ArrowDown');
  await section.locator('.chart-plot').focus();
  await page.keyboard.press('End');
  const said = await section.locator('.chart-value span').allTextContents();
  const expected = await report.evaluate((one) => one.report.runs.filter(({ loss }) => loss.batches)
    .map(({ name, loss }) => [name, loss.batches.losses.at(-1)]));
  for (const [n, [name, loss]] of expected.entries())
    if (!said[n]?.startsWith(name) || Math.abs(numbers(said[n]).at(-1) - loss) > 1e-3 * loss)
      offend(`the chart says ${said[n]}, expected ${name} ${loss}`);
}

async function check_flags(page, report, offend) {
  const rows = () => report.locator('section:has(#flags) tr').count();
  const box = report.locator('section:has(#flags) [name=all]');
  if (!await box.count()) return;
  const differing = await rows();
  await box.focus();
  await page.keyboard.press('Space');
  const all = await report.evaluate((one) => new Set(one.report.runs.flatMap(({ flags }) => Object.keys(flags))).size);
  if (await rows() !== all + 1 || differing >= all + 1) offend(`${differing} rows of flags, then ${await rows()} of ${all}`);
}

module.exports = async (page, report, offend) => {
  const sections = await page.locator('#sections a').allTextContents();
  for (const name of ['Runs', 'Loss', 'Attention', 'Flags', 'Parameters'])
    if (!sections.includes(name)) offend(`no section ${name} in ${sections}`);
  await check_maps(page, report, offend);
  await check_losses(page, report, offend);
  await check_flags(page, report, offend);
  await report.locator('details').first().evaluate((one) => { one.open = true; });
  const tensors = await report.evaluate((one) => one.report.runs[0].tensors.length);
  if (await report.locator('details').first().locator('tr').count() !== tensors + 1) offend('not all parameters are listed');
};
