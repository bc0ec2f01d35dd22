// Quotes of our sources, cut out when the book is made:
//
//     ```quote nn/multi_head_attention.cpp attention
//     RelativeAttention MultiHeadAttention::equation(
//     ...
//     }
//     ```
//
// A quote goes from the first line of the file that begins with the first line here, to the next one at its
// indentation that begins with the last line here, or to a deeper one that closes all brackets. One line alone quotes
// one line. Code is folded until a reader asks for it, unless the chapter's front matter says "code: shown". Where that beginning occurs before, a line above it here, such as a heading, says after which line to
// look. The word behind the file names the function of python/ that says the same in PyTorch; <code-tabs> shows one of
// the two. A quote-text is Markdown and becomes part of the page. The book cannot be made when a line or a function is
// gone, when a bracket of the code stays open, or when the quoted text begins or ends inside of a paragraph.

const fs = require('node:fs');
const path = require('node:path');

const project = path.resolve(__dirname, '../../..');
const indentation = (line) => line.length - line.trimStart().length;

/// How many brackets of some code stay open. Strings and comments do not count.
function open_brackets(lines) {
  const code = lines.join('\n').replace(/"(\\.|[^"\\\n])*"|'(\\.|[^'\\\n])'|\/\/.*/g, '');
  return [...code].reduce((open, letter) => open + '([{'.includes(letter) - ')]}'.includes(letter), 0);
}

/// Whether a line of Markdown goes on with the paragraph of the line before it.
const goes_on = (line, before) => Boolean(line?.trim() && before?.trim()) &&
  !/^\s*(\||- |#|<!--)/.test(line) && !/^\s*(\||#|<!--)/.test(before);

/// The lines of a file from the one that begins with the last of `beginnings` to the one that begins with
/// `last`. Each beginning is sought after the one before it.
function cut(file, beginnings, last) {
  const is_text = file.endsWith('.md');
  const lines = fs.readFileSync(path.join(project, file), 'utf8').split('\n');
  let begin = -1;
  const is_closed = (end) => is_text || open_brackets(lines.slice(begin, end + 1)) === 0;
  const begins = (line, text) => line.trim() && line.trimStart().startsWith(text);
  for (const beginning of beginnings) {
    const before = begin;
    begin = lines.findIndex((line, n) => n > before && begins(line, beginning));
    if (begin < 0) throw new Error(`quote ${file}: no line begins with "${beginning}"`);
  }
  const depth = indentation(lines[begin]);
  const ends = (line, n) => n > begin && begins(line, last) &&
    (indentation(line) === depth || (indentation(line) > depth && is_closed(n)));
  const end = last === undefined ? begin : lines.findIndex(ends);
  if (end < 0) throw new Error(`quote ${file}: after "${beginnings.at(-1)}", no line begins with "${last}"`);
  if (!is_closed(end)) throw new Error(`quote ${file}: a bracket stays open after "${lines[end].trim()}"`);
  if (is_text && goes_on(lines[end + 1], lines[end]))
    throw new Error(`quote ${file}: the paragraph goes on after "${lines[end]}" with "${lines[end + 1]}"`);
  if (is_text && goes_on(lines[begin], lines[begin - 1]))
    throw new Error(`quote ${file}: the paragraph of "${lines[begin]}" begins above it`);
  return lines.slice(begin, end + 1).map((line) => line.slice(Math.min(depth, indentation(line))));
}

/// What the body of a quote asks for.
function quoted(file, body) {
  const asked = body.split('\n').map((line) => line.trim()).filter((line) => line);
  const dots = asked.indexOf('...');
  if (asked.length === 0 || dots === 0 || (dots > 0 && dots !== asked.length - 2))
    throw new Error(`quote ${file}: expected a line, or a first line, "..." and a last line`);
  return dots < 0 ? cut(file, asked).join('\n') : cut(file, asked.slice(0, dots), asked.at(-1)).join('\n');
}

/// The function of python/ that has this name, as the book shows it: without what its file imports.
function python(name) {
  const file = `examples/book/python/${name}.py`;
  if (!fs.existsSync(path.join(project, file))) throw new Error(`${file} is missing, the function beside a quote`);
  const text = fs.readFileSync(path.join(project, file), 'utf8').trimEnd(), begin = text.search(/^def /m);
  if (!text.slice(begin).startsWith(`def ${name}(`)) throw new Error(`${file}: expected one function, ${name}`);
  return { file, code: text.slice(begin) };
}

function quotes(markdown) {
  const fence = markdown.renderer.rules.fence;
  const escape = markdown.utils.escapeHtml;
  markdown.renderer.rules.fence = (tokens, n, options, env, self) => {
    const [kind, file, name] = tokens[n].info.trim().split(/\s+/);
    if (kind === 'quote-text') return markdown.render(quoted(file, tokens[n].content), env);
    const figure = (language, file, code) => `<figure class="quote" data-language="${language}" aria-label="${escape(file)}, ${language}">` +
      `<figcaption><code>${escape(file)}</code></figcaption>` +
      `<pre tabindex="0"><code>${options.highlight(code, file)}</code></pre></figure>\n`;
    if (kind === 'quote') {
      if (!name) throw new Error(`quote ${file}: expected the name of a function of python/ after it`);
      const other = python(name);
      const code = quoted(file, tokens[n].content), count = code.split('\n').length;
      const tabs = `<code-tabs>\n${figure('C++', file, code)}${figure('PyTorch', other.file, other.code)}</code-tabs>\n`;
      return env.code === 'shown' ? tabs : `<details class="code-fold"><summary>Code <code>${escape(name)}</code> ` +
        `<small>${count === 1 ? '1 line' : `${count} lines`}</small></summary>\n${tabs}</details>\n`;
    }
    return fence(tokens, n, options, env, self);
  };
}

module.exports = { python, quoted, quotes };
