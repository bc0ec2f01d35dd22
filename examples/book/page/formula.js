// Formulas that the library writes as plain text, set as those of the chapters are: indices, exponents, slanted
// letters, and the colours of the terms of the score.

const meanings = {
  'q·k': 'content-content', 'q′·k′': 'content-content', 'q·r': 'content-position', 'u·k': 'content-bias',
  'v·r': 'position-bias',
};

/// The HTML of a formula such as "p = e^(k + w) / Σ_j e^(k + w)".
export function set_formula(text) {
  const marked = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
    .replace(/[a-z]′?·[a-z]′?/g, (term) => meanings[term] ? `<span class="means-${meanings[term]}">${term}</span>` : term)
    .replace(/_\(([^)]*)\)|_([a-z\dδ]+)/g, (_, inner, index) => `<sub>${inner ?? index}</sub>`)
    .replace(/\^\(([^)]*)\)/g, '<sup>$1</sup>');
  return marked.split(/(<[^>]*>)/).map((part, n) => n % 2 ? part
    : part.replace(/(?<![\p{L}&])[A-Za-zδσ](?![\p{L};])/gu, '<i>$&</i>').replaceAll('′', '<sup>′</sup>')).join('');
}
