// <terms-figure>: each term of the score does its part, no term is a mean, and memory changes no number.

const { Figure, assert } = require('../figure.js');
const { answered } = require('../waiting.js');

/// The numbers that the map says under the arrow keys.
const map = (figure) => figure.root.evaluate((one) => {
  const element = one.querySelector('drawn-figure'), cells = element.querySelector('[tabindex]');
  const { columns: width, values } = JSON.parse(element.querySelector('metadata').textContent);
  const height = width ? values.length / width : 0;
  const press = (key, times) => {
    for (let n = 0; n < times; ++n) cells.dispatchEvent(new KeyboardEvent('keydown', { key }));
  };
  cells.focus();
  press('ArrowUp', height);
  return Array.from({ length: height }, (_, row) => {
    press('ArrowDown', Number(row > 0));
    press('ArrowLeft', width);
    return Array.from({ length: width }, (_, column) => {
      press('ArrowRight', Number(column > 0));
      const said = element.querySelector('output').textContent.split(': ').at(-1);
      return said === 'hidden' ? 0 : Number(said);
    });
  });
});

const greatest = (row) => row.indexOf(Math.max(...row));

module.exports = async (page, root) => {
  const figure = new Figure(page, root);
  const only = async (terms) => {
    for (const name of 'abcd')
      if (await figure.input(name).isChecked() !== terms.includes(name)) await figure.input(name).press('Space');
    await answered(page);
    await figure.look(`terms ${terms}`);
    return map(figure);
  };
  const text = [...await figure.input('text').inputValue()];
  (await only('a')).forEach((row, i) => row.forEach((p, j) =>
    assert.equal(p > 0.05, j <= i && text[i] === text[j], `(a) ${i} ${j}: ${p}`)));
  (await only('b')).slice(3).forEach((row, n) =>
    assert.equal(greatest(row), n + 3 - ('aeiou'.includes(text[n + 3]) ? 1 : 3), `(b) ${n + 3}`));
  (await only('c')).slice(3).forEach((row, n) => assert.equal(text[greatest(row)], ' ', `(c) ${n + 3}`));
  (await only('d')).forEach((row, i) => assert.equal(greatest(row), i, `(d) ${i}`));
  (await only('')).forEach((row, i) => row.forEach((p, j) =>
    assert.equal(p, j <= i ? Number((1 / (i + 1)).toFixed(3)) : 0, `no term, ${i} ${j}`)));
  const all = await only('abcd');
  await figure.slide('m', 5);
  await answered(page);
  assert.deepEqual(await map(figure), all.slice(5));
  const map_shows = () => root.locator('drawn-figure').isVisible();
  await figure.input('text').fill('');
  assert.equal(await root.locator('[role=alert]').textContent(), 'Type one letter or more.');
  assert.ok(!await map_shows(), 'a map of no letters');
  for (const [short, rows] of [['aé', 2], ['the cat', 7]]) {
    await figure.input('text').fill(short);
    await answered(page);
    assert.equal((await map(figure)).length, rows, `“${short}”`);
    assert.ok(await root.locator('[role=alert]').isHidden() && await map_shows());
  }
};
