// <loss-by-place>: a training shows a curve with a value for each place of a segment, and another model another one.

module.exports = async (page, figure, offend) => {
  await figure.locator('[name=variant]').selectOption('Transformer-XL');
  await figure.locator('[name=train]').press('Enter');
  await figure.locator('svg .curves').waitFor();
  const curves = await figure.locator('[data-name]').evaluateAll((paths) =>
    paths.map(({ dataset, attributes }) => [dataset.name, attributes.d.value.match(/[ML]/g)?.length ?? 0]));
  if (curves.length !== 3) offend(`curves ${JSON.stringify(curves)}, expected three`);
  await figure.locator('[name=variant]').selectOption('Transformer, rotary');  // ends the training
  if (await figure.locator('[name=train]').isDisabled()) offend('another model cannot be trained');
  if (await figure.locator('[role=alert]').isVisible()) offend(await figure.locator('[role=alert]').textContent());
};
