// Formulas that the library writes as plain text, set as those of the chapters are: indices, exponents, slanted
// letters, and the colours of what they name.

const terms = {
  'q·k': 'content-content', 'q′·k′': 'content-content', 'q·r': 'content-position', 'q·a': 'content-position',
  'u·k': 'content-bias', 'v·r': 'position-bias',
};
const names = { q: 'query', 'q′': 'query', k: 'key', 'k′': 'key', v: 'value', δ: 'distance', s: 'position-scores' };

const colored = (meaning, html) => meaning ? `<span class="means-${meaning}">${html}</span>` : html;

/// The HTML of a formula such as "p = e^(k + w) / Σ_j e^(k + w)".
export function set_formula(text) {
  const marked = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('-', '−')
    .replace(/[a-z]′?·[a-z]′?/g, (term) => colored(terms[term], term))
    .replace(/(?<!\p{L}\p{L})(?:_\(([^)]*)\)|_([a-z\dδ]+))/gu, (_, inner, index) => `<sub>${inner ?? index}</sub>`)
    .replace(/\^\(([^)]*)\)/g, '<sup>$1</sup>');
  return marked.split(/(<[^>]*>)/).map((part, n) => n % 2 ? part
    : part.replace(/(?<![\p{L}&])[A-Za-zδσ](?![\p{L};])/gu, '<i>$&</i>').replaceAll('′', '<sup>′</sup>')).join('');
}

/// The HTML of a table's name, such as "q" or "s by distance", in the colour of what it names.
export const set_name = (name) => colored(names[name.replace(/ by \w+$/, '')], set_formula(name));

/// The HTML of words with formulas among them, such as "content against content: q_i·k_j".
export const set_words = (text) => text.split(/(\s)/).map((word) =>
  /[_·δ√]|^\(?(?![aAI]\b)\p{L}\)?[,:]?$/u.test(word) ? set_formula(word) : word === '-' ? '−' : word.replaceAll('<', '&lt;')).join('');
