// The card that other sites show of a page: whole addresses in its tags, and a picture whose file is right.
//
//     node tests/examples/book/social_card.js

const assert = require('node:assert/strict');
const path = require('node:path');
const zlib = require('node:zlib');

const make = path.resolve(__dirname, '../../../examples/book/make');
const { card, height, social_tags, width } = require(path.join(make, 'social_card.js'));

const chapter = { name: 'shift', title: 'The "shift"', summary: 'One buffer' };
const tags = social_tags(chapter, 'https://example.org/book/', (text) => text.replaceAll('"', '&quot;'));
for (const [property, content] of Object.entries({
  'og:title': 'The &quot;shift&quot;', 'og:description': 'One buffer', 'og:url': 'https://example.org/book/shift.html',
  'og:image': 'https://example.org/book/card.png',
})) assert.ok(tags.includes(`<meta property="${property}" content="${content}">`), `${property} in ${tags}`);

/// The chunks of a PNG, by their type.
function chunks(file) {
  const found = {};
  for (let at = 8, length; at < file.length; at += 12 + length) {
    length = file.readUInt32BE(at);
    found[file.toString('latin1', at + 4, at + 8)] = file.subarray(at + 8, at + 8 + length);
  }
  return found;
}

const file = card(), { IHDR, IDAT, IEND } = chunks(file);
assert.equal(file.toString('latin1', 0, 8), '\x89PNG\r\n\x1a\n');
assert.deepEqual([IHDR.readUInt32BE(0), IHDR.readUInt32BE(4), IHDR[8], IHDR[9]], [width, height, 8, 2]);
assert.equal(IEND.length, 0);
assert.equal(file.readUInt32BE(file.length - 4), 0xae426082);  // the sum of an empty last chunk, by the standard
const rows = zlib.inflateSync(IDAT), row = 1 + 3 * width;
assert.equal(rows.length, height * row);
const colors = new Set();
for (let y = 0; y < height; ++y)
  for (let at = y * row + 1; at < (y + 1) * row; at += 3) colors.add(rows.toString('hex', at, at + 3));
assert.equal(colors.size, 6, `the colours ${[...colors]}`);  // paper, four queries, and what is later
console.log(`the card: ${file.length} bytes`);
