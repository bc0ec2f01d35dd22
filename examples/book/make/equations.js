// Equations in Markdown: $…$ in a line, $$…$$ on lines of their own. KaTeX sets them.

const katex = require('katex');
const { macros } = require('./meanings.js');

const longest_unbroken = 40;  // characters of an equation that fits into a line of a phone with what follows it

const own_commands = new RegExp(`(${Object.keys(macros).map((name) => `\\${name}`).join('|')})(?=\\{)`, 'g');

/// The typefaces of KaTeX that the book has, and what is set in others: \mathcal, \texttt and their like.
const typefaces = ['AMS-Regular', 'Main-Bold', 'Main-Regular', 'Math-Italic',
                   'Size1-Regular', 'Size2-Regular', 'Size3-Regular', 'Size4-Regular'];
const needs_another = /class="(?:[^"]* )?(boldsymbol|mathit|textit|(?:math|text)(?:cal|frak|scr|tt|\w*sf))[ "]/;

/// The HTML of an equation. What a reader copies of it has none of our own commands.
function set(text, displayMode) {
  const trust = ({ command }) => command === '\\htmlClass';
  const html = katex.renderToString(text, { displayMode, throwOnError: true, macros: { ...macros }, trust, strict: false });
  const [, other] = needs_another.exec(html) ?? [];
  if (other) throw new Error(`${text}: the book has no typeface for ${other}`);
  return html.replace(/(<annotation[^>]*>)([^<]*)/, (_, tag, source) => tag + source.replace(own_commands, ''));
}

/// The parts of a displayed equation between its \qquad, without those inside of brackets and environments.
function parts_of(text) {
  const tokens = /(\{|\\begin\b|\\left\b)|(\}|\\end\b|\\right\b)|\\qquad\b|\\?[^]/g, parts = [''];
  let depth = 0;
  for (const [token, opens, closes] of text.matchAll(tokens)) {
    depth += opens ? 1 : closes ? -1 : 0;
    if (token === '\\qquad' && depth === 0) parts.push('');
    else parts[parts.length - 1] += token;
  }
  return parts;
}

/// $a$ in a line. As in pandoc, no space follows the first dollar or stands before the last, and no digit
/// follows it, so that "$5 and $6" stays as it is.
/// A mark that follows, such as a comma, stays on its line.
function in_line(state, silent) {
  const equation = /^\$(?![\s$])((?:\\.|[^\\$])*?)(?<!\s)\$(?!\d)([.,;:!?)]*)/.exec(state.src.slice(state.pos));
  if (!equation) return false;
  if (!silent) Object.assign(state.push('equation', '', 0), { content: equation[1], info: equation[2] });
  state.pos += equation[0].length;
  return true;
}

/// Lines from one that begins with $$ to one that ends with it.
function displayed(state, start, end, silent) {
  const line = (n) => state.src.slice(state.bMarks[n] + state.tShift[n], state.eMarks[n]).trim();
  if (!line(start).startsWith('$$')) return false;
  let last = start;
  while (!(line(last).endsWith('$$') && (last > start || line(last).length > 3)))
    if (++last >= end) throw new Error(`${line(start)}: no $$ ends it`);
  if (silent) return true;
  const lines = [];
  for (let n = start; n <= last; ++n) lines.push(line(n));
  const token = state.push('displayed_equation', '', 0);
  token.block = true;
  token.content = lines.join('\n').slice(2, -2);
  state.line = last + 1;
  return true;
}

function equations(markdown) {
  markdown.inline.ruler.before('escape', 'equation', in_line);
  markdown.block.ruler.before('fence', 'displayed_equation', displayed,
                              { alt: ['paragraph', 'reference', 'blockquote', 'list'] });
  markdown.renderer.rules.equation = (tokens, n) => {
    const { content, info: mark } = tokens[n];
    if (content.length > longest_unbroken && mark) return set(`${content}\\text{${mark}}`, false);
    const html = set(content, false) + mark;
    return mark ? `<span class="unbroken">${html}</span>` : html;
  };
  markdown.renderer.rules.displayed_equation = (tokens, n) => {
    const parts = parts_of(tokens[n].content).map((part) => set(part, true));
    return `<div class="wide" tabindex="0" role="group" aria-label="Equation">${parts.join('')}</div>\n`;
  };
}

module.exports = { equations, typefaces };
