// <storage-figure>: a gradient lies where its value lies, and only a copy is on the tape.

const { Figure, assert } = require('../figure.js');

/// Of each view its values, the gradients in memory, and the number of entries on the tape.
const views = {
  slice: [[[12, 13, 14]], [0, 0, 1, 2, 3, 0], 0],
  reverse: [[[15, 14, 13, 12, 11, 10]], [6, 5, 4, 3, 2, 1], 0],
  transpose: [[[10, 13], [11, 14], [12, 15]], [1, 3, 5, 2, 4, 6], 0],
  column: [[[11], [14], [17]], [0, 1, 0, 0, 2, 0, 0, 3, 0], 0],
  expand: [[[10, 11, 12, 13], [10, 11, 12, 13], [10, 11, 12, 13]], [15, 18, 21, 24], 0],
  rel_shift: [[[13, 14, 15], [16, 17, 18], [19, 20, 21]], [0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9], 0],
  chain: [[[19, 15, 11], [20, 16, 12]], [0, 3, 6, 0, 0, 2, 5, 0, 0, 1, 4, 0], 0],
  copy: [[[10, 13], [11, 14], [12, 15]], [1, 3, 5, 2, 4, 6], 1],
};

module.exports = async (page, root) => {
  const figure = new Figure(page, root), numbers = (field) => figure.rows(({ text }) => Number(text), field);
  const options = await root.locator('option').evaluateAll((all) => all.map(({ value }) => value));
  assert.deepEqual(options, Object.keys(views));
  for (const [name, [view, gradient, entries]] of Object.entries(views)) {
    await figure.input('view').selectOption(name);
    await figure.shows([view, [gradient]], async () => [await numbers('.view'), await numbers('.gradient')]);
    assert.match(await root.locator('.key').textContent(), new RegExp(`The tape has ${entries} entr`));
    await figure.look(`storage ${name}`);
  }
};
