// Quotes of our sources, cut out when the book is made:
//
//     ```quote nn/shaw_attention.cpp
//     Tensor ShawAttention::equation(
//     ...
//     }
//     ```
//
// A quote goes from the first line of the file that begins with the first line here, to the next one at its
// indentation that begins with the last line here. One line alone quotes one line. A quote-text is
// Markdown and becomes part of the page. The book cannot be made when a line is gone.

const fs = require('node:fs');
const path = require('node:path');

const project = path.resolve(__dirname, '../../..');
const indentation = (line) => line.length - line.trimStart().length;

/// The lines of a file from the one that begins with `first` to the one that begins with `last`.
function cut(file, first, last) {
  const lines = fs.readFileSync(path.join(project, file), 'utf8').split('\n');
  const begin = lines.findIndex((line) => line.trim() && line.trimStart().startsWith(first));
  if (begin < 0) throw new Error(`quote ${file}: no line begins with "${first}"`);
  if (last === undefined) return lines.slice(begin, begin + 1);
  const depth = indentation(lines[begin]);
  const end = lines.findIndex((line, n) =>
    n > begin && line.trim() && indentation(line) === depth && line.trimStart().startsWith(last));
  if (end < 0) throw new Error(`quote ${file}: after "${first}", no line begins with "${last}"`);
  return lines.slice(begin, end + 1).map((line) => line.slice(Math.min(depth, indentation(line))));
}

/// What the body of a quote asks for.
function quoted(file, body) {
  const asked = body.split('\n').map((line) => line.trim()).filter((line) => line);
  const whole = asked.length === 3 && asked[1] === '...';
  if (!whole && asked.length !== 1)
    throw new Error(`quote ${file}: expected a line, or a first line, "..." and a last line`);
  return cut(file, asked[0], asked[2]).join('\n');
}

function quotes(markdown) {
  const fence = markdown.renderer.rules.fence;
  const escape = markdown.utils.escapeHtml;
  markdown.renderer.rules.fence = (tokens, n, options, env, self) => {
    const [kind, file] = tokens[n].info.trim().split(/\s+/);
    if (kind === 'quote-text') return markdown.render(quoted(file, tokens[n].content), env);
    if (kind === 'quote')
      return `<figure class="quote"><figcaption><code>${escape(file)}</code></figcaption>` +
        `<pre tabindex="0"><code>${escape(quoted(file, tokens[n].content))}</code></pre></figure>\n`;
    return fence(tokens, n, options, env, self);
  };
}

module.exports = { quotes };
