// Figures get an id from what they show, so that each of them has an address (page/figure_address.js): the second
// <shift-figure> of a page is #shift-figure-2. The stills of a stage have the addresses of their texts.

const { unused } = require('./headings.js');

/// A figure is called as its caption is, which browsers do not do by themselves.
function named_by_captions(html) {
  let count = 0;
  return html.replace(/<figure((?: id="[^"]*")?)>(?=[^]*?<figcaption>)([^]*?)<figcaption>/g, (_, id, inside) => {
    const caption = `caption-${++count}`;
    return `<figure${id} aria-labelledby="${caption}">${inside}<figcaption id="${caption}">`;
  });
}

/// Names the figures in the HTML of a page.
function with_addresses(html) {
  const taken = new Set([...html.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id));
  const addressed = html.replace(/<figure>(?=\s*<(?:([a-z]+(?:-[a-z]+)+)|svg class="([\w-]+)))/g, (tag, element, drawing) =>
    drawing === 'still' ? tag : `<figure id="${unused(element ?? drawing, taken)}">`);
  return named_by_captions(addressed);
}

module.exports = { with_addresses };
