// <rotary-clock>: what the library says of each pair is the cosine of the angle between its hands, which keys, buttons
// and the mouse turn. Moved together, the hands turn and no number changes.

const { Figure, assert } = require('../figure.js');

const D = 8, pairs = D / 2;
const speed = (n) => 10000 ** (-2 * n / D);

module.exports = async (page, root) => {
  const figure = new Figure(page, root);
  const numbers = () => root.locator('.clock output').evaluateAll((all) => all.map(({ textContent }) => textContent));
  const hands = () => root.locator('.hand').evaluateAll((all) => all.map((hand) => hand.getAttribute('d')));
  const shows = async (p, j) => {
    assert.deepEqual([await figure.number('p'), await figure.number('j')], [p, j]);
    await figure.shows(pairs, async () => (await numbers()).filter((text) => text.startsWith('adds')).length);
    (await numbers()).forEach((text, n) => {
      const found = Number(text.replace('adds ', '').replace('−', '-')), expected = Math.cos((p - j) * speed(n));
      assert.ok(Math.abs(found - expected) <= 6e-4, `pair ${n} of ${p} and ${j} adds ${found}, expected ${expected}`);
    });
    // The angle of each hand, from the top.
    (await hands()).forEach((path, at) => {
      const [x, y] = path.split('L')[1].split(' ').map(Number), angle = (at % 2 ? j : p) * speed(Math.floor(at / 2));
      const aside = (x - 50) * Math.cos(angle) + (y - 50) * Math.sin(angle);
      const along = (x - 50) * Math.sin(angle) - (y - 50) * Math.cos(angle);
      assert.ok(Math.abs(aside) < 0.05 && along > 20, `hand ${at} of ${p} and ${j} ends at ${x}, ${y}`);
    });
    const said = await root.locator('.status').textContent();
    assert.ok(said.includes(`p − j = ${String(p - j).replace('-', '−')}.`), said);
  };
  await shows(9, 4);
  await root.locator('.clocks').focus();
  for (const key of ['ArrowRight', 'ArrowRight', 'ArrowUp', 'ArrowDown', 'ArrowDown']) await page.keyboard.press(key);
  await shows(11, 3);
  const before = [await numbers(), await hands()];
  await figure.input('on').press('Enter');
  await shows(12, 4);
  assert.deepEqual(await numbers(), before[0]);
  assert.notDeepEqual(await hands(), before[1]);
  await figure.input('back').press('Enter');
  await shows(11, 3);
  await figure.slide('j', 0);
  await figure.input('back').press('Enter');  // the key cannot go back, so neither does
  await shows(11, 0);
  await figure.slide('p', 0);
  await figure.slide('j', 31);
  await shows(0, 31);
  // The query's hand of the first clock, to the right: a quarter of a turn is 1.57 radians, between 1 and 2 tokens.
  await root.locator('.clocks').scrollIntoViewIfNeeded();
  const { x, y, width } = await root.locator('.clock svg').first().boundingBox();
  await page.mouse.move(x + 0.5 * width, y + 0.16 * width);
  await page.mouse.down();
  await page.mouse.move(x + 0.8 * width, y + 0.5 * width, { steps: 5 });
  await page.mouse.up();
  await shows(2, 31);
  await figure.look('rotary clock');
};
