// <predict-loss>: a curve is drawn by keys and by the mouse, the answer waits for the button, and it is the library's.

const { Figure, assert } = require('../figure.js');
const { until } = require('../waiting.js');

const segment = 32;

/// A finger that swipes upward scrolls the page.
async function check_swipe(page, plane) {
  const { x, y, height } = await plane.boundingBox(), before = await page.evaluate(() => scrollY);
  const session = await page.context().newCDPSession(page);
  await session.send('Emulation.setTouchEmulationEnabled', { enabled: true });
  const touch = (type, ...touchPoints) => session.send('Input.dispatchTouchEvent', { type, touchPoints });
  await touch('touchStart', { x: x + 50, y: y + height / 2 });
  for (let way = 10; way <= height / 2; way += 10) await touch('touchMove', { x: x + 50, y: y + height / 2 - way });
  await touch('touchEnd');
  await until(page, () => page.evaluate((before) => scrollY > before, before));
  await session.send('Emulation.setTouchEmulationEnabled', { enabled: false });
  await session.detach();
}

module.exports = async (page, root) => {
  const figure = new Figure(page, root), plane = root.locator('.curve-plane');
  const prediction = async () => (await figure.input('prediction').inputValue()).split(',').map(Number);
  assert.ok(await figure.input('see').isDisabled());
  await plane.focus();
  for (const key of ['ArrowDown', 'ArrowRight', 'ArrowRight', 'ArrowUp', 'ArrowUp']) await page.keyboard.press(key);
  assert.deepEqual(await prediction(), Array.from({ length: segment }, (_, n) => n < 2 ? 1.4 : 1.6));
  assert.match(await figure.said(), /^Place 3: you say 1\.6 nats\.$/);
  await plane.scrollIntoViewIfNeeded();
  // The lines of 3 nats and of none, from the first place to the last.
  const box = await root.locator('.curve-plane .grid').last().boundingBox();
  const bottom = await root.locator('.curve-plane .grid').first().boundingBox();
  await page.mouse.move(box.x, box.y);
  await page.mouse.down();
  await page.mouse.move(bottom.x + bottom.width, bottom.y, { steps: 4 });
  await page.mouse.up();
  const drawn = await prediction();
  assert.ok(drawn[0] > 2.8 && drawn.at(-1) < 0.2, `drawn ${drawn}`);
  drawn.slice(1).forEach((nats, n) => assert.ok(nats <= drawn[n], `drawn ${drawn}`));
  await check_swipe(page, plane);
  assert.deepEqual(await prediction(), drawn);
  await figure.look('predict loss');
  await figure.input('see').press('Enter');
  await until(page, () => root.locator('.answered').getAttribute('d'));
  const status = await root.locator('.status').textContent();
  const [, far, before, after] = status.match(/(\d\.\d+) nats.*, with (\d\.\d+) nats, .*, with (\d\.\d+)/);
  assert.ok(far > 0.1 && before - after > 0.3, status);
  await plane.focus();
  await page.keyboard.press('Home');
  const first = Number((await figure.said()).match(/the model loses (\d\.\d+)/)[1]);
  await page.keyboard.press('End');
  const last = Number((await figure.said()).match(/the model loses (\d\.\d+)/)[1]);
  assert.ok(first > 2 && last < first - 0.5, `${first} nats at first, ${last} at last`);
  await page.keyboard.press('ArrowUp');
  assert.deepEqual(await prediction(), drawn);  // what is answered stays
  await figure.look('predict loss answered');
  await figure.input('again').press('Enter');
  assert.equal(await figure.input('prediction').inputValue(), '');
  assert.equal(await root.locator('.answered').getAttribute('d'), '');
};
