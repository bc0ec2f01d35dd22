// Words of chapters/glossary.md: where a page first uses one, it links to the glossary and has the definition as its
// title, which page/layout.css shows for those who come by keyboard. A word that the page itself defines has no link:
// one that is set off, as in *softmax*, or whose definition leads to this page.

const fs = require('node:fs');
const path = require('node:path');

const file = path.resolve(__dirname, '../chapters/glossary.md');
const ambiguous = ['bit', 'content', 'score', 'shift', 'state'];  // the text has them with other meanings, too
const escape = (text) => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');

/// A definition as a title has it: without links to chapters and without the signs of equations.
const plain = (text) => text.replace(/<!--.*?-->/g, '').replace(/ \(\[[^)]*\)\)/g, '')
  .replace(/\$([^$]*)\$/g, (_, equation) => equation.replaceAll('\\', '').replaceAll('-', '−')).trim();

/// All words: {word, names, id, definition, page}. `names` has all words of its row, `page` is the chapter that explains
/// it.
function words() {
  const [, table] = fs.readFileSync(file, 'utf8').split(/^## Words$/m);
  return [...table.matchAll(/^\| (?!word |-)(.+?) \| (.+) \|$/gm)].flatMap(([, names, text]) =>
    names.split(', ').map((word) => (
      { word, names, id: `word-${names.replace(/\W+/g, '-')}`, definition: plain(text), page: /\((\w+)\.html\)/.exec(text)?.[1] })));
}

const pattern = ([first, ...rest]) =>
  new RegExp(`(?<![\\w-])[${first.toUpperCase()}${first}]${rest.join('')}(?:e?s)?(?![\\w-])`);

/// The HTML with the rows of the glossary named by their words.
const with_ids = (html) => words().reduce((text, { names, id }) =>
  text.replace(`<td>${names}</td>`, `<td id="${id}">${names}</td>`), html);

/// The HTML of a page with its words linked.
function with_words(html, page) {
  if (page === 'glossary') return with_ids(html);
  const left = words().filter((one) => one.page !== page && !ambiguous.includes(one.word))
    .map((one) => ({ ...one, pattern: pattern(one.word) })).sort((a, b) => b.word.length - a.word.length);
  const forget = (found) => left.splice(left.indexOf(found), 1);
  const open = [{}];  // elements; words of some are not linked
  const linked = (text) => {
    const found = left.map((one) => ({ one, match: one.pattern.exec(text) })).filter(({ match }) => match)
      .sort((a, b) => a.match.index - b.match.index)[0];
    if (!found) return text;
    const { one, match: { 0: word, index } } = found;
    forget(one);
    const link = `<a class="glossary-word" href="glossary.html#${one.id}" title="${escape(one.definition)}">${word}</a>`;
    return text.slice(0, index) + link + linked(text.slice(index + word.length));
  };
  const made = html.split(/(<[^>]*>)/).map((part) => {
    const [, end, tag, closed] = /^<(\/?)([a-z][\w-]*)[^]*?(\/?)>$/i.exec(part) ?? [];
    if (tag && end) open.pop();
    else if (tag && !closed && !/^(br|hr|img|input|wbr)$/.test(tag)) {
      const is_skipped = open.at(-1).is_skipped || part.includes('class="katex') ||
        /^(a|code|pre|h\d|figure|table|svg|button|summary|script)$/.test(tag);
      const is_text = open.at(-1).is_text || /^(p|li)$/.test(tag);
      open.push({ is_skipped, is_text, sets_off: /^(em|strong)$/.test(tag) });
    }
    const { is_skipped, is_text, sets_off } = open.at(-1);
    if (tag || part.startsWith('<') || is_skipped || !is_text) return part;
    const defined = sets_off && left.find((one) => one.pattern.exec(part)?.[0].length === part.length);
    if (defined) forget(defined);
    return linked(part);
  }).join('');
  if (open.length > 1) throw new Error(`${open.length - 1} elements are left open`);
  return made;
}

module.exports = { ambiguous, with_words };
