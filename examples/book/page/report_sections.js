// The sections of a report, one function each: from the runs to an element that shows them. <run-report> puts
// them together.

import { choices, part } from 'book/elements.js';
import 'book/heat_map.js';
import 'book/line_chart.js';

const bits = (nats) => nats / Math.LN2;
const digits = (value) => value === null || value === undefined ? '–' : value.toFixed(3);
const per = (unit) => unit.split(' per ')[1];

export function element(tag, text = '', attributes = {}) {
  const made = Object.assign(document.createElement(tag), { textContent: text });
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

/// A table with a heading for each column and each row.
function table(caption, columns, rows) {
  const made = element('table');
  const line = (cells, ...headings) => {
    const row = element('tr');
    row.append(...cells.map((cell, n) => headings.includes(n)
      ? element('th', cell, { scope: n === 0 && cells !== columns ? 'row' : 'col' }) : element('td', cell)));
    return row;
  };
  made.append(element('caption', caption), line(columns, ...columns.keys()), ...rows.map((row) => line(row, 0)));
  const wide = element('div', '', { class: 'wide', tabindex: '0', role: 'region', 'aria-label': caption });
  wide.append(made);
  return wide;
}

/// A figure with controls, a place for what it shows, and a sentence about it.
function figure(controls, shown, sentence) {
  const made = element('figure');
  made.innerHTML = `<div class="controls">${controls}</div>`;
  made.firstChild.hidden = !controls;
  made.append(...[shown].flat(), element('figcaption', sentence));
  return made;
}

const select = (name, label, names) => `<label>${label} <select name="${name}">${choices(names)}</select></label>`;

/// Sentences about the runs that cannot show something.
const reasons = (runs, key) => runs.filter((run) => run[key]?.nothing)
  .map((run) => element('p', `${run.name}: ${run[key].nothing}.`, { class: 'nothing' }));

const having = (runs, key) => runs.filter((run) => run[key] && !run[key].nothing);

const parameters_of = ({ tensors }) =>
  tensors.reduce((sum, { shape }) => sum + shape.reduce((count, size) => count * size, 1), 0);

export function overview({ runs, unit }) {
  const measured = runs.filter((run) => run.validation_loss !== null);
  const best = measured.sort((a, b) => a.validation_loss - b.validation_loss)[0];
  const rows = runs.map((run) => [run.name, String(run.flags.model ?? run.flags.encoder ?? ''),
    String(parameters_of(run)), String(run.step), digits(run.validation_loss),
    run.validation_loss === null ? '–' : digits(bits(run.validation_loss)), run.scored ?? '–', run.checkpoint]);
  const loss = measured.length > 1 ? 'the lowest validation loss,' : 'a validation loss of';
  const sentence = best ? `${best.name} has ${loss} ${digits(best.validation_loss)} ${unit}.` : '';
  return [element('p', sentence),
    table('The runs', ['run', 'model', 'parameters', 'step', unit, `bits per ${per(unit)}`, 'scored', 'checkpoint'], rows)];
}

export function losses({ runs: all, unit }) {
  const runs = having(all, 'loss');
  if (!runs.length) return reasons(all, 'loss');
  const chart = document.createElement('line-chart');
  const kinds = { 'of the validation text': 'validation', 'of each batch': 'batches' };
  const made = figure(select('kind', 'loss', Object.keys(kinds)), chart,
    'The loss by the number of steps. The arrow keys read the values of all runs at a step.');
  const show = () => {
    const kind = part(made, 'kind').value;
    chart.show({ title: `Loss ${kind}`, x_title: 'step', y_title: unit, curves: runs.map(({ name, loss }) =>
      ({ name, xs: loss[kinds[kind]].steps, ys: loss[kinds[kind]].losses })) });
  };
  made.addEventListener('change', show);
  if (!runs.some(({ loss }) => loss.validation.steps.length)) part(made, 'kind').value = 'of each batch';
  show();
  return [made, ...reasons(all, 'loss')];
}

export function samples({ runs }) {
  const beside = element('div', '', { class: 'beside' });
  beside.append(...having(runs, 'sample').map(({ name, sample }) => {
    const one = element('div');
    const text = element('pre', '', { class: 'sample', tabindex: '0', 'aria-label': `sample of ${name}` });
    text.append(element('b', sample.prompt), sample.text);
    one.append(element('h3', name), text);
    return one;
  }));
  const settings = having(runs, 'sample')[0]?.sample.settings;
  return [figure('', beside, `What each model writes after the prompt (${settings}).`), ...reasons(runs, 'sample')];
}

/// The tokens of a text, of which some can be marked.
function token_line(title, tokens) {
  const words = tokens.some((token) => [...token].length > 1);
  const line = element('p', `${title}: `, { class: words ? 'tokens words' : 'tokens' });
  line.append(...tokens.map((token) => element('span', token === ' ' ? '␣' : token.replace('\n', '⏎').replace('\t', '⇥'))));
  return { line, mark: (n) => [...line.children].forEach((token, at) => token.classList.toggle('marked', at === n)) };
}

/// One map of a run. The tokens of the cell that is read are marked below it, and maps of the same text read the
/// same cell.
function attention_map(run, example, map, others) {
  const shown = element('div', '', { class: 'attention' });
  const heat = document.createElement('heat-map');
  const queries = token_line('query', example.queries);
  const keys = token_line('key', example.keys);
  const columns = example.keys.length;
  const mark = (cell) => {
    queries.mark(cell?.row);
    keys.mark(cell?.column);
  };
  const text = JSON.stringify([example.queries, example.keys]);
  heat.addEventListener('cell', ({ detail }) => {
    mark(detail);
    for (const other of others)
      if (other.heat !== heat && other.text === text) {
        other.heat.mark(detail?.row, detail?.column);
        other.mark(detail);
      }
  });
  others.push({ heat, text, mark });
  shown.append(heat, queries.line, keys.line);
  heat.show({
    title: `${run.name}: ${map.title}`, limit: 1,
    values: example.queries.map((_, row) => map.weights.slice(row * columns, (row + 1) * columns).map((weight) => weight / 1000)),
    row_title: 'query', row_names: example.queries, column_title: 'key', column_names: example.keys,
  });
  return shown;
}

/// Maps of the chosen layer and head, of all runs side by side. Runs without that head show none.
export function attention({ runs }) {
  const able = having(runs, 'attention');
  if (!able.length) return reasons(runs, 'attention');
  const most = (count) => Math.max(...able.flatMap((run) => run.attention.map(count)));
  const numbers = (count) => Array.from({ length: count }, (_, n) => String(n));
  const examples = able[0].attention.map(({ title }, n) => title || `text ${n}`);
  const beside = element('div', '', { class: 'beside' });
  const made = figure(
    (examples.length > 1 ? select('example', 'pair', examples) : '') +
    select('layer', 'layer', numbers(most(({ layers }) => layers.length))) +
    select('head', 'head', numbers(most(({ layers }) => layers[0].length))),
    beside, 'What each query attends to, a row for each: the bluer a cell, the more of the key. The cursor or the arrow ' +
    'keys read a weight, and mark its query and its key in the text.');
  const show = () => {
    const chosen = (name) => Math.max(part(made, name)?.selectedIndex ?? 0, 0);
    const maps = [];
    beside.replaceChildren(...able.map((run) => {
      const example = run.attention[Math.min(chosen('example'), run.attention.length - 1)];
      const map = example.layers[chosen('layer')]?.[chosen('head')];
      return map ? attention_map(run, example, map, maps)
        : element('p', `${run.name} has no head ${chosen('head')} in a layer ${chosen('layer')}.`);
    }));
  };
  made.addEventListener('change', show);
  show();
  return [made, ...reasons(runs, 'attention')];
}

/// A chart for each run that has tables of the chosen kind.
export function distances({ runs }) {
  const able = having(runs, 'distances');
  if (!able.length) return reasons(runs, 'distances');
  const titles = [...new Set(able.flatMap((run) => run.distances.layers[0].map(({ title }) => title)))];
  const layers = Math.max(...able.map((run) => run.distances.layers.length));
  const beside = element('div', '', { class: 'beside' });
  const made = figure(select('kind', 'show', titles) + select('layer', 'layer', Array.from({ length: layers }, (_, n) => String(n))),
    beside, 'What a layer has learned about each distance δ, a curve for each head: biases of the score after the ' +
    'factor 1/√D, and norms of embeddings.');
  const show = () => {
    const shown = able.flatMap((run) => {
      const found = run.distances.layers[part(made, 'layer').value]?.find(({ title }) => title === part(made, 'kind').value);
      return found ? [[run, found]] : [];
    });
    beside.replaceChildren(...shown.map(([run, { title, distances: xs, heads }]) => {
      const chart = document.createElement('line-chart');
      chart.show({ title: `${run.name}, layer ${part(made, 'layer').value}`, x_title: 'distance δ', y_title: title,
                   curves: heads.map((ys, n) => ({ name: heads.length > 1 ? `head ${n}` : 'all heads', xs, ys })) });
      return chart;
    }));
  };
  made.addEventListener('change', show);
  show();
  return [made, ...reasons(runs, 'distances')];
}

export function context({ runs }) {
  const able = having(runs, 'context');
  if (!able.length) return reasons(runs, 'context');
  const chart = document.createElement('line-chart');
  chart.show({ title: 'Loss by the length of the context', x_title: 'characters read', y_title: 'bits per character',
               curves: able.map(({ name, context: { lengths, bits } }) => ({ name, xs: lengths, ys: bits })) });
  const trained = able.map(({ name, context }) => `${name} was trained on blocks of ${context.trained}`).join('; ');
  return [figure('', chart, `How well the models predict from exactly so many characters of the validation text: ${trained}.`),
    ...reasons(runs, 'context')];
}

const shown_flag = (value) => value === undefined || value === null ? '–' : value === '' ? '(none)' : String(value);

/// All flags, or those that are not the same in all runs.
export function flags({ runs }) {
  const names = [...new Set(runs.flatMap((run) => Object.keys(run.flags)))];
  const differs = (name) => new Set(runs.map((run) => JSON.stringify(run.flags[name] ?? null))).size > 1;
  const several = runs.length > 1;
  const made = element('div');
  made.innerHTML = several
    ? '<p class="controls"><label><input type="checkbox" name="all"> also flags that are the same in all runs</label></p>' : '';
  const place = element('div');
  made.append(place);
  const show = () => {
    const kept = names.filter((name) => !several || part(made, 'all').checked || differs(name));
    place.replaceChildren(table('Flags of the training', ['flag', ...runs.map(({ name }) => name)],
      kept.map((name) => [name, ...runs.map((run) => shown_flag(run.flags[name]))])));
  };
  made.addEventListener('change', show);
  show();
  return [made];
}

export function parameters({ runs }) {
  return runs.map((run) => {
    const details = element('details');
    details.append(
      element('summary', `${run.name}: ${run.tensors.length} tensors, ${parameters_of(run)} numbers`),
      table(`Parameters of ${run.name}`, ['name', 'shape', 'numbers'], run.tensors.map(({ name, shape }) =>
        [name, `[${shape.join(', ')}]`, String(shape.reduce((count, size) => count * size, 1))])));
    return details;
  });
}
