// What has a colour of its own in the whole book. page/meanings.css says which.

/// Commands for equations: \query{q_i} has the colour of a query.
const macros = Object.fromEntries(Object.entries({
  '\\contentcontent': 'content-content', '\\contentposition': 'content-position', '\\contentbias': 'content-bias',
  '\\positionbias': 'position-bias', '\\positionscores': 'position-scores',
  '\\query': 'query', '\\key': 'key', '\\val': 'value', '\\memory': 'memory', '\\distance': 'distance',
}).map(([command, meaning]) => [command, `\\htmlClass{means-${meaning}}{#1}`]));

/// Names in code.
const names = {
  content_content: 'content-content', content_position: 'content-position', position_rows: 'content-position',
  clipped_keys: 'content-position', content_bias: 'content-bias', position_bias: 'position-bias',
  position_scores: 'position-scores', query: 'query', queries: 'query', key: 'key', keys: 'key', value: 'value',
  memory: 'memory', distance: 'distance', distances: 'distance',
};

/// Products in comments of code.
const products = [
  [/^q_i·k_j/, 'content-content'], [/^q_i·(r_δ|R_\{P-δ\}|E_δ|a_c)/, 'content-position'], [/^u·k_j/, 'content-bias'],
  [/^v·r_δ/, 'position-bias'], [/^(S_\{P-δ\}|s_δ)/, 'position-scores'],
];
const meaning_of = (word) => Object.hasOwn(names, word) ? names[word]
  : products.find(([pattern]) => pattern.test(word))?.[1];

/// Colours the names in the HTML of code, outside of its tags. A line with a name is an element of its own, which
/// page/meaning_marks.js marks, unless a comment goes on in the next one.
function with_meanings(html) {
  const colored = html.split(/(<[^>]*>)/).map((part, n) => n % 2 ? part
    : part.replace(/(q_i|u|v)·\w+(\{P-δ\}|δ)?|[Ss]_(\{P-δ\}|δ)|\b[a-z_]+\b/g, (word) => {
      const meaning = meaning_of(word);
      return meaning ? `<span class="means-${meaning}">${word}</span>` : word;
    })).join('');
  return colored.split('\n').map((line) => {
    const is_whole = line.split('<span').length === line.split('</span>').length;
    return is_whole && line.includes('"means-') ? `<span class="code-line">${line}</span>` : line;
  }).join('\n');
}

module.exports = { macros, with_meanings };
