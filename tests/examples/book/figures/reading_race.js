// <reading-race>: both lanes read all of the text, the window feeds about as many times more as it is long, and
// the losses agree as far as both see the same.

module.exports = async (page, figure, offend) => {
  await figure.locator('[name=start]').press('Enter');
  await figure.locator('.status', { hasText: 'times as long' }).waitFor();
  const lanes = await figure.locator('.lane').evaluateAll((all) => all.map((lane) => {
    const [read, tokens, , fed, nats] = lane.querySelector('output').textContent.match(/[\d.]+/g).map(Number);
    return { read, tokens, fed, nats, done: lane.querySelector('progress').value };
  }));
  for (const { read, tokens, done } of lanes) if (read !== tokens || done !== 1) offend(`${read} of ${tokens} read`);
  const [window, memory] = lanes;
  if (memory.fed !== memory.tokens || window.fed < 100 * window.tokens) offend(`${window.fed} and ${memory.fed} fed`);
  if (!(Math.abs(window.nats - memory.nats) < 0.3 && memory.nats < 2.5)) offend(`losses of ${window.nats} and ${memory.nats}`);
  if (await figure.locator('[role=alert]').isVisible()) offend(await figure.locator('[role=alert]').textContent());
};
