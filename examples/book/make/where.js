// The straight way through the book on one line: the score of Transformer-XL, each part a link to where it is explained.
// A chapter of that way has the line at its top, with the parts that it adds in their colours.

const term = (text, means, page) => ({ text, means: `means-${means}`, page });

const terms = {
  qk: term('q·k', 'content-content', 'attention.html'),
  qr: term('q·r', 'content-position', 'positions.html#line-by-line'),
  uk: term('u·k', 'content-bias', 'positions.html#line-by-line'),
  vr: term('v·r', 'position-bias', 'positions.html#line-by-line'),
};
const beside = {
  shift: term('shifted to keys', 'distance', 'shift.html'),
  memory: term('with a memory', 'memory', 'memory.html'),
};

/// What each chapter of the way adds.
const adds = {
  attention: ['qk'], positions: ['qr', 'uk', 'vr'], shift: ['shift'], memory: ['memory'],
  transformer_xl: [...Object.keys(terms), ...Object.keys(beside)],
};

/// The line for a chapter, or nothing.
function where({ name }) {
  const here = adds[name];
  if (!here) return '';
  const part = ([key, { text, means, page }]) =>
    `<a href="${page}" class="${means}${here.includes(key) ? ' here' : ''}"${here.includes(key) ? ' aria-current="true"' : ''}>${text}</a>`;
  const sum = Object.entries(terms).map(part).join(' + ');
  return `<nav class="where" aria-label="The whole score, and what this chapter adds">
<span>score = (${sum}) / √D</span>
${Object.entries(beside).map((one) => `<span>${part(one)}</span>`).join('\n')}
</nav>
`;
}

module.exports = { where };
