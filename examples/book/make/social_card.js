// What other sites show of a page that somebody links to there: its title, its summary and one picture for all pages,
// the shift. These sites want whole addresses, so a book has this where the variable BOOK_URL says at which it will
// stand, such as https://example.org/book.

const fs = require('node:fs');
const path = require('node:path');
const zlib = require('node:zlib');

const width = 1200, height = 630;
const T = 4, M = 2, K = M + T;
const cell = 78, gap = 6, top = (height - T * cell) / 2;
const tables = [cell, width - cell - K * cell];  // where they begin

/// The tags for the head of a page. `escape` makes text fit into an attribute.
function social_tags({ name, title, summary }, url, escape) {
  const at = (file) => `${url.replace(/\/$/, '')}/${file}`;
  const properties = {
    'og:type': 'article', 'og:site_name': 'shiftgrad: the book', 'og:title': title, 'og:description': summary,
    'og:url': at(`${name}.html`), 'og:image': at('card.png'), 'og:image:width': width, 'og:image:height': height,
    'og:image:alt': 'Two tables of cells: in the second, each row of the first has moved to its place.',
  };
  const tags = Object.entries(properties).map(([property, text]) =>
    `<meta property="${property}" content="${escape(String(text))}">`);
  return [...tags, '<meta name="twitter:card" content="summary_large_image">'].join('\n');
}

/// A colour of the book on light paper, as three bytes.
function color(name) {
  const styles = fs.readFileSync(path.resolve(__dirname, '../../apps/draw/page/book.css'), 'utf8');
  return Buffer.from(new RegExp(`--${name}: light-dark\\(#(\\w{6})`).exec(styles)[1], 'hex');
}

/// A picture's file. `pixels` has three bytes for each.
function png(pixels) {
  const chunk = (type, data) => {
    const body = Buffer.concat([Buffer.from(type, 'latin1'), data]), ends = Buffer.alloc(8);
    ends.writeUInt32BE(data.length, 0);
    ends.writeUInt32BE(checksum(body), 4);
    return Buffer.concat([ends.subarray(0, 4), body, ends.subarray(4)]);
  };
  const header = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 8, 2, 0, 0, 0]);  // 8 bits, red, green and blue
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  const rows = Array.from({ length: height }, (_, y) =>
    Buffer.concat([Buffer.alloc(1), pixels.subarray(3 * width * y, 3 * width * (y + 1))]));
  const signature = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
  return Buffer.concat([signature, chunk('IHDR', header), chunk('IDAT', zlib.deflateSync(Buffer.concat(rows))),
                        chunk('IEND', Buffer.alloc(0))]);
}

/// The CRC-32 of a chunk.
function checksum(bytes) {
  let sum = ~0;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; ++bit) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0);
  }
  return ~sum >>> 0;
}

/// The picture of the shift: scores by distance, and the same ones by key. Only cells with a key have a colour.
function card() {
  const pixels = Buffer.alloc(3 * width * height, color('paper'));
  const put = (x, y, shade) => {
    for (let row = y; row < y + cell - gap; ++row)
      pixels.fill(shade, 3 * (row * width + x), 3 * (row * width + x + cell - gap));
  };
  for (let i = 0; i < T; ++i)
    for (let column = 0; column < K; ++column) {
      const shade = (has_key) => color(has_key ? `cell-${i}` : 'panel'), y = top + i * cell;
      put(tables[0] + column * cell, y, shade(K - 1 - column <= M + i));
      put(tables[1] + column * cell, y, shade(column <= M + i));
    }
  return png(pixels);
}

module.exports = { card, height, social_tags, width };
