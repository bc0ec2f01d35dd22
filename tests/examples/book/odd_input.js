// Gives each input of each figure odd values: none, too much, too little, half of one, text where there is a number, and
// letters that no model knows. The figure takes the nearest value or says one sentence, and then shows nothing that was
// there before. With what was there at first, it shows what it showed.

const { settled, until } = require('./waiting.js');

const odd_numbers = ['-3', '999999', '', '1.5', '1e400'];
const odd_texts = ['', '🙂', '<b>"', 'Q'.repeat(3000)];

/// In the page: types texts one after the other, and leaves the input each time. Returns those that it does not take.
function give(control, texts) {
  const refused = [];
  for (const text of texts) {
    control.focus();
    control.value = control.maxLength >= 0 ? text.slice(0, control.maxLength) : text;
    for (const event of ['input', 'change']) control.dispatchEvent(new Event(event, { bubbles: true }));
    control.blur();
    if (!control.validity.valid || control.type === 'number' && control.value === '') refused.push(`"${text}" as "${control.value}"`);
  }
  return refused;
}

/// In the page: the values of a figure's inputs, or these values for them.
const values_of = (figure) => [...figure.querySelectorAll('input, textarea')].map(({ value }) => value);
function restore(figure, values) {
  [...figure.querySelectorAll('input, textarea')].forEach((one, n) => {
    if (one.value === values[n]) return;
    one.value = values[n];
    for (const event of ['input', 'change']) one.dispatchEvent(new Event(event, { bubbles: true }));
  });
}

/// What a figure shows: what it complains of, and the rest.
const seen = (figure) => figure.evaluate((one) => {
  const alerts = [...one.querySelectorAll('[role=alert]')].filter((alert) => alert.checkVisibility() && alert.textContent);
  const rest = one.cloneNode(true);
  for (const part of rest.querySelectorAll('[role=alert], [hidden], .figure-tools, label, noscript, button, metadata, .first-state')) part.remove();
  return { alerts: alerts.map(({ textContent }) => textContent.trim()), rest: rest.textContent.split(/\s+/).join(' ') };
});

async function came(page, figure) {
  await settled(page);
  await until(page, () => figure.locator('[aria-busy=true]').count(), (busy) => busy === 0);
}

/// What a figure says and shows of odd input, and which numbers of before stay beside a complaint.
function check_seen({ alerts, rest }, before, offend) {
  if (alerts.length > 1 || alerts.some((text) => !/^\S[^\n]{5,200}[.!?]$/.test(text))) offend(`it says ${JSON.stringify(alerts)}`);
  for (const text of [...alerts, rest]) {
    const [nonsense] = /\b(null|NaN|undefined|Infinity|another type)\b/.exec(text) ?? [];
    if (nonsense) offend(`"${nonsense}" stands there: ${text.slice(0, 200)}`);
  }
  if (alerts.length && /\d\.\d/.test(rest) && rest === before.rest) offend(`numbers of before stay below ${JSON.stringify(alerts)}`);
}

async function work(page, figure, control, offend) {
  const values = await figure.evaluate(values_of), first = await control.inputValue(), before = await seen(figure);
  const is_number = await control.evaluate(({ type }) => type === 'number');
  // A number is taken or changed at once, and a text is read in the figure's own time.
  for (const odd of is_number ? [odd_numbers] : odd_texts.map((text) => [text])) {
    for (const refused of await control.evaluate(give, odd)) offend(`it takes ${refused}`);
    await came(page, figure);
    const now = await seen(figure), say = (what) => offend(`given ${JSON.stringify(odd.at(-1).slice(0, 20))}, ${what}`);
    check_seen(now, before, say);
    if (!is_number && JSON.stringify(now) === JSON.stringify(before) && await control.inputValue() !== first) say('nothing changes');
  }
  for (let round = 0; round < 2; ++round) {  // the range of one input may follow from another
    await figure.evaluate(restore, values);
    await came(page, figure);
  }
  const after = await seen(figure);
  if (JSON.stringify(after) !== JSON.stringify(before)) offend(`as it was, it shows ${JSON.stringify(after).slice(0, 300)}, expected ${JSON.stringify(before).slice(0, 300)}`);
}

async function check_odd_input(page, offend) {
  const figures = page.locator('main figure[id]');
  for (let n = 0; n < await figures.count(); ++n) {
    const figure = figures.nth(n), id = await figure.getAttribute('id');
    const controls = figure.locator(':is(input[type=number], input[type=text], input:not([type]), textarea)');
    for (let c = 0; c < await controls.count(); ++c) {
      const control = controls.nth(c);
      if (!await control.isVisible() || await control.isDisabled()) continue;
      const name = await control.getAttribute('name');
      await work(page, figure, control, (what) => offend(`${id}, ${name}: ${what}`));
    }
  }
}

module.exports = { check_odd_input };
