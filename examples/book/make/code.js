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

const longest_unbroken = 11;  // characters that fit into a column of a phone
const between_words = /(?<=\w[_./:=])(?=[A-Za-z])|(?<=[a-z])(?=[A-Z])/;

/// The HTML of a text in which long names may break between their words.
const with_breaks = (text) => text.split(/(\s+)/).map((name) =>
  (name.length > longest_unbroken ? name.split(between_words) : [name]).map(escapeHtml).join('<wbr>')).join('');

/// Code within a line. No line ends within the hyphens of a flag.
const in_line = (tokens, n) =>
  `<code>${with_breaks(tokens[n].content).replace(/--\w+/g, '<span class="unbroken">$&</span>')}</code>`;

/// Text, in which names of models stand.
const in_text = (tokens, n) => with_breaks(tokens[n].content);

module.exports = { colored, in_line, in_text };
