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

/// Colours the names in the HTML of code, outside of its tags.
function with_meanings(html) {
  return html.split(/(<[^>]*>)/).map((part, n) => n % 2 ? part
    : part.replace(/\b[a-z_]+\b/g, (word) =>
      Object.hasOwn(names, word) ? `<span class="means-${names[word]}">${word}</span>` : word)).join('');
}

module.exports = { macros, with_meanings };
