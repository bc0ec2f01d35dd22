// Code in colours, by highlight.js, when the book is made. Its classes have their colours in page/layout.css.

const { with_meanings } = require('./meanings.js');
const { escapeHtml } = require('markdown-it')().utils;
const highlight = require('highlight.js/lib/highlight');

highlight.configure({ hideUpgradeWarningAcceptNoSupportOrSecurityUpdates: true });  // Debian has version 9
const languages = { cpp: 'cpp', h: 'cpp', js: 'javascript', json: 'json', py: 'python', sh: 'bash' };
for (const name of new Set(Object.values(languages)))
  highlight.registerLanguage(name, require(`highlight.js/lib/languages/${name}`));

/// The HTML of code. `name` is a language or a file; what is none of these languages has no colours, and its words no
/// meanings.
function colored(code, name) {
  const language = languages[name.split('.').at(-1)] ?? name;
  return highlight.getLanguage(language) ? with_meanings(highlight.highlight(language, code, true).value) : escapeHtml(code);
}

const longest_unbroken = 15;  // characters that fit into a column of a phone
const between_words = /(?<=\w[_./:=])(?=[A-Za-z])|(?<=[a-z])(?=[A-Z])/;

/// Code within a line. Long names may break between their words.
function in_line(tokens, n) {
  const { content } = tokens[n];
  const words = content.length > longest_unbroken ? content.split(between_words) : [content];
  return `<code>${words.map(escapeHtml).join('<wbr>')}</code>`;
}

module.exports = { colored, in_line };
