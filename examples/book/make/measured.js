// What was measured, from the pages of the studies, in one line of a chapter:
//
//     ::claim A memory helps
//     ::claim A memory helps, to the row trained and scored without
//     ::paper Transformer-XL
//
// A claim is a section of claims/README.md: its first table and the answer, and below them, folded, all the rest but how
// the claim came to be. With a row, it is the table alone, to this row. A paper is a row of what the papers measured,
// below its head. Cells say what their numbers are when one points at them; the first table of a page says it below
// itself.

const fs = require('node:fs');
const path = require('node:path');

const studies = path.resolve(__dirname, '../../studies');
const notation = 'Mean ± standard deviation over the seeds of the trainings, and in brackets their number. ' +
  'Of a comparison: difference ± standard error, and p, the probability of so large a difference by chance. From p = 0.01 ' +
  'on, the answer is no.';
const of_other_models = 'The models below are smaller and train for less, so they lose more: compare them with one another alone.';

/// The lines below a heading, up to the next heading.
function section(file, heading) {
  const lines = fs.readFileSync(path.join(studies, file), 'utf8').split('\n');
  const begin = lines.indexOf(heading);
  if (begin < 0) throw new Error(`${file} has no heading "${heading}"`);
  const end = lines.findIndex((line, n) => n > begin && /^##+ /.test(line));
  return lines.slice(begin + 1, end < 0 ? lines.length : end);
}

/// Parts of a claim in Markdown: {table, answer, rest}.
function claim(title, last) {
  const lines = section('claims/README.md', `## ${title}`), is_row = (line) => line?.startsWith('|');
  const begin = lines.findIndex(is_row), end = lines.findIndex((line, n) => n > begin && !is_row(line));
  const answer = lines.findIndex((line) => /^\*\*(holds|not at this size|the opposite holds)\*\*/.test(line));
  if (last) {
    const row = lines.findIndex((line) => line.startsWith(`| ${last}`));
    if (row < begin || row >= end) throw new Error(`the claim "${title}" has no row "${last}"`);
    return { table: lines.slice(begin, row + 1).join('\n') };
  }
  const text = lines.findLastIndex((line, n) => n < begin - 1 && !line.trim()) + 1;
  const history = lines.findIndex((line) => line.startsWith('*History.*'));
  return {
    table: lines.slice(text, end).join('\n'), answer: lines[answer],
    rest: [...lines.slice(end, answer), ...lines.slice(answer + 1, history < 0 ? lines.length : history)].join('\n'),
  };
}

/// The row of a variant in what the papers measured, below the head of the table.
function paper(variant) {
  const rows = section('README.md', '## What the papers measured').filter((line) => line.startsWith('|'));
  const row = rows.find((line) => line.startsWith(`| ${variant} |`));
  if (!row) throw new Error(`studies/README.md: what the papers measured has no row "${variant}"`);
  return { table: [...rows.slice(0, 2), row].join('\n') };
}

/// What a line such as "::claim …" asks for: {kind, …parts in Markdown}.
function measured(line) {
  const [, kind, title, last] = /^::(claim|paper) (.+?)(?:, to the row (.+))?$/.exec(line) ?? [];
  if (!kind) throw new Error(`${line}, expected "::claim TITLE" or "::paper VARIANT"`);
  return kind === 'claim' ? claim(title, last) : paper(title);
}

/// A number of a study's results: of the row that begins with this name, in the column of this title.
function result(study, table, row, column) {
  const { columns, rows } = JSON.parse(fs.readFileSync(path.join(studies, study, 'results.json'), 'utf8')).tables[table];
  const found = rows.find(([name]) => name === row)?.[columns.findIndex((one) => (one.title ?? one) === column)];
  if (typeof found !== 'number') throw new Error(`${study}/results.json: the table "${table}" has no number for "${row}", "${column}"`);
  return found;
}

/// What the number of a cell is, or nothing.
function meaning(cell) {
  const [, count] = /^[\d.]+ ± [\d.]+(?: \((\d+)\))?$/.exec(cell) ?? [null, null];
  return count === null ? '' : `mean ± standard deviation of ${count === undefined ? 'several' : count} trainings`;
}

function quantities(markdown) {
  markdown.block.ruler.before('paragraph', 'measured', (state, start, end, silent) => {
    const line = state.src.slice(state.bMarks[start] + state.tShift[start], state.eMarks[start]);
    if (!line.startsWith('::')) return false;
    if (!silent) Object.assign(state.push('measured', '', 0), { block: true, content: line.trim() });
    state.line = start + 1;
    return true;
  }, { alt: ['paragraph', 'list'] });
  markdown.renderer.rules.measured = (tokens, n, options, env) => {
    const { table, answer, rest } = measured(tokens[n].content), html = (text) => markdown.render(text, env);
    const is_of = (kind) => (token) => token.type === 'measured' && token.content.startsWith(`::${kind} `);
    if (is_of('paper')(tokens[n]) && tokens.slice(n).some(is_of('claim'))) return html(`${table}\n\n${of_other_models}`);
    return html(table) + (answer ? `${html(answer)}<details class="more"><summary>All that was compared</summary>\n${html(rest)}</details>\n` : '');
  };
  markdown.core.ruler.push('meanings_of_cells', ({ tokens }) => tokens.forEach((token, n) => {
    const said = token.type === 'td_open' && meaning(tokens[n + 1].content);
    if (!said) return;
    token.attrSet('title', said);
    const [text] = tokens[n + 1].children, deviation = Object.assign(new text.constructor('html_inline', '', 0), {
      content: `<small class="deviation">${text.content.slice(text.content.indexOf('±'))}</small>`,
    });
    text.content = text.content.slice(0, text.content.indexOf('±'));
    tokens[n + 1].children.push(deviation);
  }));
  const close = markdown.renderer.rules.table_close;
  markdown.renderer.rules.table_close = (tokens, n, options, env, self) => {
    const open = tokens.findLastIndex(({ type }, at) => at < n && type === 'table_open');
    const is_first = !env.explained && tokens.slice(open, n).some((token) => token.attrGet?.('title'));
    if (is_first) env.explained = true;
    return close(tokens, n, options, env, self) + (is_first ? `<p class="notation">${notation}</p>\n` : '');
  };
}

module.exports = { measured, quantities, result };
