// <alibi-fade>: the penalties of the paper for powers of two and of its code for others, and the weights that they
// leave.

const { Figure, assert } = require('../figure.js');

const longest = 64;
const of_power = (H) => Array.from({ length: H }, (_, h) => 2 ** (-8 * (h + 1) / H));

/// The slopes of H heads.
function slopes(H) {
  const lower = 2 ** Math.floor(Math.log2(H));
  return [...of_power(lower), ...of_power(2 * lower).filter((_, h) => h % 2 === 0)].slice(0, H);
}

module.exports = async (page, root) => {
  const figure = new Figure(page, root);
  const rows = () => root.locator('tr:has(td)').evaluateAll((all) => all.map((row) =>
    [...row.children].map(({ textContent }) => Number(textContent.replace('−', '-')))));
  for (const [H, delta] of [[8, 8], [6, 8], [1, 64], [4, 0]]) {
    await figure.slide('heads', H);
    await figure.slide('distance', delta);
    const is_near = (slope, h, [head, one]) => head === h && Math.abs(one + slope) <= 6e-5;
    await figure.shows([H, true], async () => {
      const found = await rows();
      return [found.length, found.length === H && slopes(H).every((slope, h) => is_near(slope, h, found[h]))];
    });
    for (const [h, , there, weight] of await rows()) {
      const slope = slopes(H)[h], powers = Array.from({ length: longest + 1 }, (_, n) => Math.exp(-slope * n));
      assert.ok(Math.abs(there + slope * delta) <= 6e-4, `head ${h} of ${H} takes ${there} at ${delta}`);
      const expected = powers[delta] / powers.reduce((sum, power) => sum + power);
      assert.ok(Math.abs(weight - expected) <= 6e-5, `head ${h} of ${H} has the weight ${weight} at ${delta}`);
    }
  }
  await figure.slide('heads', 8);
  await figure.shows(8, () => root.locator('[data-name]').count());
  await figure.look('alibi fade');
};
