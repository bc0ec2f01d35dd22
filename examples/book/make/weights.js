// The trained models of examples/studies/bach/book for pages, as a script: a page from a disk may load a script, but it may not
// read a file. The upper bytes of all weights come before the lower ones, which compresses by a fifth more: the
// upper ones, of sign and exponent, are much alike.

const fs = require('node:fs');
const path = require('node:path');

const folder = path.resolve(__dirname, '../../studies/bach/book');

/// What page/trained_models.js makes the file of: its header, and each half of its weights of two bytes.
function parts(file) {
  const bytes = fs.readFileSync(file), begin = 8 + Number(bytes.readBigUInt64LE(0)), weights = bytes.subarray(begin);
  const half = (offset) => Buffer.from(weights.filter((_, n) => n % 2 === offset)).toString('base64');
  return { header: bytes.subarray(0, begin).toString('base64'), lower: half(0), upper: half(1) };
}

function weights_script() {
  const files = fs.readdirSync(folder).filter((name) => name.endsWith('.safetensors'));
  const models = Object.fromEntries(files.map((name) => [path.basename(name, '.safetensors'), parts(path.join(folder, name))]));
  return `globalThis.shiftgrad_weights = ${JSON.stringify(models)};\n`;
}

module.exports = { folder, weights_script };
