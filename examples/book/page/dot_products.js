// The dot products of a worked example, written out for one pair of query and key: q·k = 1·0 + 2·(−1) = −2.

import { fixed } from 'book/elements.js';
import { set_formula } from 'book/formula.js';

/// A vector whose table has another name than in the formula: of products with v, the values are none.
const table_names = { v: 'position_bias' };

/// The fewest digits after the point, up to 3, that show all values.
export function digits_of(values) {
  const shows = (digits) => values.every((value) => Math.abs(value - Number(value.toFixed(digits))) < 1e-6);
  return [0, 1, 2].find(shows) ?? 3;
}

/// The row of a table that belongs to the pair, as numbers to read.
function vector(table, labels) {
  const width = table.columns.length, begin = width * table.rows.findIndex((label) => labels.has(label));
  return table.values.slice(begin, begin + width).map((value) => fixed(value, digits_of(table.values)));
}

const in_product = (number) => number.startsWith('−') ? `(${number})` : number;

/// The lines for a pair, in HTML. `labels` has the names of its rows, `value_of` gives a table's number for it.
export function dot_products(tables, labels, value_of) {
  const find = (name) => tables.find((table) => table.name === name);
  const score = tables.findIndex(({ name }) => name === 'score');
  const terms = tables.filter(({ rows, columns, has_hidden }, n) =>
    has_hidden && n < score && rows[0] === 'i=0' && columns[0] === 'j=0');
  const products = terms.flatMap((term) => {
    const factors = term.name.split('·').map((name) => find(table_names[name] ?? name));
    if (factors.length !== 2 || !factors.every(Boolean)) return [];
    const [a, b] = factors.map((table) => vector(table, labels));
    const sum = a.map((x, d) => `${in_product(x)}·${in_product(b[d])}`).join(' + ');
    return [`<b>${set_formula(term.name)}</b> = ${sum} = ${value_of(term)}`];
  });
  if (!products.length) return '';
  const sum = terms.map((term) => in_product(value_of(term))).join(' + ');
  const root = `√${find('q').columns.length}`, divided = `${terms.length > 1 ? `(${sum})` : sum} / ${root}`;
  return [...products, `<b>score</b> = ${divided} = ${value_of(tables[score])}`].map((line) => `<p>${line}</p>`).join('');
}
