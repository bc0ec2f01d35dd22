// <beam-search>: each step keeps at most `width` targets and the best ones, a wider beam finds no worse a target, and
// all of it is worked by the keyboard.

const { until } = require('../waiting.js');

const shown = (figure) => figure.evaluate((one) => ({
  rows: [...one.querySelectorAll('tr')].slice(1).map((row) => [...row.querySelectorAll('td')].map((cell) => ({
    text: cell.querySelector('b').textContent, kept: cell.className === 'kept',
    score: Number(cell.lastChild.textContent.replace('score ', '').replace('−', '-')),
  }))),
  status: one.querySelector('.status').textContent,
}));

const changed = (page, figure, before) => until(page, () => shown(figure), (now) =>
  now.rows.length && JSON.stringify(now) !== JSON.stringify(before));

module.exports = async (page, figure, offend) => {
  const best = ({ rows }) => rows.at(-1)[0].score;
  const check = ({ rows }, width) => {
    for (const row of rows) {
      const kept = row.filter((one) => one.kept).length;
      if (kept !== Math.min(width, row.length)) offend(`${kept} targets are kept of ${row.length}, expected ${width}`);
      if (row.some(({ score }, n) => n > 0 && score > row[n - 1].score)) offend(`scores ${row.map(({ score }) => score)}`);
    }
    if (rows.at(-1).some(({ text, kept }) => kept && !text.endsWith('▪'))) offend('the search ends before its targets');
  };
  const two = await changed(page, figure, { rows: [], status: '' });
  check(two, 2);
  await figure.locator('input[name=width]').press('End');
  const four = await changed(page, figure, two);
  check(four, 4);
  if (best(four) < best(two)) offend(`a width of 4 finds ${best(four)}, 2 finds ${best(two)}`);
  await figure.locator('input[name=alpha]').press('Home');
  const plain = await changed(page, figure, four);
  check(plain, 4);
  await figure.locator('[name=source]').press('ArrowDown');
  const other = await changed(page, figure, plain);
  if (other.status === plain.status) offend(`another source has the same target: ${other.status}`);
  if (await figure.locator('[role=alert]').isVisible()) offend(await figure.locator('[role=alert]').textContent());
};
