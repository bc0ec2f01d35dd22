// Reads a chapter: front matter, then Markdown with equations, quotes of our sources and figures.

const fs = require('node:fs');
const path = require('node:path');
const { with_beats } = require('./beats.js');
const { colored, in_line, in_text } = require('./code.js');
const markdown = require('markdown-it')({ html: true, typographer: false, highlight: colored });
const { equations } = require('./equations.js');
const { with_exercises } = require('./exercises.js');
const { folds } = require('./folds.js');
const { with_words } = require('./glossary.js');
const { headings } = require('./headings.js');
const { quantities } = require('./measured.js');
const { numbers } = require('./numbers.js');
const { quotes } = require('./quotes.js');
const { with_sentences } = require('./sentences.js');

markdown.renderer.rules.code_inline = in_line;
markdown.renderer.rules.text = in_text;
markdown.use(equations).use(headings).use(folds).use(numbers).use(quotes);
// Wide tables scroll by themselves, so that a narrow page does not. Without a mouse, keys scroll them.
// A table that ends in remarks has these below the other columns on a phone, and one of many columns and few rows is
// turned there, so that its columns are rows.
const most_turned = 4, least_turned = 6;
const remarks = ['remark', 'what it is', 'changes'];
markdown.renderer.rules.table_open = (tokens, n) => {
  const end = tokens.findIndex(({ type }, place) => place > n && type === 'thead_close');
  const head = tokens.slice(n, end).filter(({ type }) => type === 'inline').map(({ content }) => content);
  const close = tokens.findIndex(({ type }, place) => place > n && type === 'table_close');
  const rows = tokens.slice(end, close).filter(({ type }) => type === 'tr_open').length;
  const is_turned = rows === 1 || rows < most_turned && head.length > least_turned;
  const kind = remarks.includes(head.at(-1)) ? 'wide remarks' : is_turned ? `wide turned" style="--rows: ${head.length}` : 'wide';
  return `<div class="${kind}" tabindex="0" role="group" aria-label="Table"><table>\n`;
};
markdown.renderer.rules.table_close = () => '</table></div>\n';
markdown.use(quantities);

/// A drawing in the page itself, where it has the page's colours.
const drawing = (_, file) => fs.readFileSync(path.resolve(__dirname, '../chapters', file), 'utf8').trim();

// Captions stand in HTML, where Markdown reads no further, but they are text.
const html_block = markdown.renderer.rules.html_block;
markdown.renderer.rules.html_block = (tokens, n, ...rest) =>
  html_block(tokens, n, ...rest).replace(/(<figcaption>)([^]*?)(<\/figcaption>)/g,
                                         (_, begin, text, end) => begin + markdown.renderInline(text.trim()) + end)
    .replace(/<img src="([\w-]+\.svg)" alt="[^"]*">/, drawing);

/// Splits "---\nkey: value\n---\ntext" into its keys and its text.
function front_matter(file, source) {
  const parts = /^---\n([^]*?)\n---\n([^]*)$/.exec(source);
  if (!parts) throw new Error(`${file}: no front matter, expected lines between two of "---"`);
  const entries = parts[1].split('\n').map((line) => {
    const entry = /^(\w+): *(.*)$/.exec(line);
    if (!entry) throw new Error(`${file}: ${line}, expected "key: value"`);
    return [entry[1], entry[2]];
  });
  return { ...Object.fromEntries(entries), text: parts[2] };
}

/// Returns {title, summary, html, headings} of a file. `headings` are the main ones: {id, html}.
function read_chapter(file) {
  const { title, summary, code, text } = front_matter(file, fs.readFileSync(file, 'utf8'));
  for (const [key, value] of Object.entries({ title, summary }))
    if (!value) throw new Error(`${file}: "${key}" is missing`);
  try {
    const env = { code };
    const html = with_words(with_sentences(with_beats(with_exercises(markdown.render(text, env)))), path.basename(file, '.md'));
    return { title, summary, html, headings: env.headings };
  } catch (error) {
    throw new Error(`${file}: ${error.message}`);
  }
}

module.exports = { read_chapter };
