// Writes the pages of the book: one for each chapter, and the contents.
//
//     node book.js FOLDER STUDY.js
//
// STUDY.js is the library in WebAssembly.

const fs = require('node:fs');
const path = require('node:path');
const zlib = require('node:zlib');
const { read_chapter } = require('./chapter.js');
const { duet } = require('./duet.js');
const { first_takes } = require('./first_takes.js');
const { typefaces } = require('./equations.js');
const { moved_pages } = require('./moved.js');
const { contents: listed } = require('./numbers.js');
const { page, contents } = require('./page.js');
const { card } = require('./social_card.js');
const { weights_script } = require('./weights.js');

const book = path.dirname(__dirname);
const [folder, study] = process.argv.slice(2);
const in_book = (...names) => path.join(book, ...names);
const write = (name, text) => fs.writeFileSync(path.join(folder, name), text);

const read_chapters = () => listed().map((chapter) =>
  ({ ...chapter, ...read_chapter(in_book('chapters', `${chapter.name}.md`)) }));

/// The custom elements that a module defines, by the module's name: cell_field.js has <cell-field>. Modules lie in
/// page/ and, where reports have them too, in apps/draw/page/.
function modules_in(html) {
  const folders = [in_book('page'), in_book('../apps/draw/page')];
  return folders.flatMap((modules) => fs.readdirSync(modules)).filter((name) => {
    const element = name.replace('.js', '').replaceAll('_', '-');
    return name.endsWith('.js') && html.includes(`<${element}`);
  });
}

/// KaTeX's styles with the typefaces that equations have, in woff2, which all browsers read, beside the pages, and its
/// script by which a copied equation comes out once, as it was written.
function copy_katex() {
  const katex = path.join(path.dirname(require.resolve('katex/package.json')), 'dist');
  const styles = fs.readFileSync(path.join(katex, 'katex.min.css'), 'utf8')
    .replace(/,url\([^)]*\.(woff|ttf)\) format\(["'][a-z]*["']\)/g, '')
    .replace(/@font-face\{[^}]*KaTeX_([\w-]+)\.woff2[^}]*\}/g, (rule, name) => typefaces.includes(name) ? rule : '');
  write('katex.css', styles);
  fs.copyFileSync(path.join(katex, 'contrib/copy-tex.js'), path.join(folder, 'copy-tex.js'));
  fs.mkdirSync(path.join(folder, 'fonts'), { recursive: true });
  for (const file of typefaces.map((name) => `KaTeX_${name}.woff2`))
    fs.copyFileSync(path.join(katex, 'fonts', file), path.join(folder, 'fonts', file));
}

/// The script around the library, as a text that the page hands to workers, and the library itself: over http the file
/// study.wasm, and in a script for a page from a disk, which may not read a file.
function copy_library() {
  const whole = fs.readFileSync(study, 'utf8'), inside = /(data:application\/octet-stream;base64,)([A-Za-z0-9+/=]+)/;
  const [, , base64] = inside.exec(whole);
  write('study.js', `globalThis.shiftgrad_source = ${JSON.stringify(whole.replace(inside, '$1'))};\n`);
  write('study_wasm.js', `globalThis.shiftgrad_wasm = "${base64}";\n`);
  write('study.wasm', Buffer.from(base64, 'base64'));
}

/// What a reader loads before a model of chorales writes, over http and compressed, in megabytes.
function megabytes_of_models() {
  const sizes = ['study.js', 'study.wasm', 'weights.js'].map((name) => zlib.gzipSync(fs.readFileSync(path.join(folder, name))).length);
  return (sizes.reduce((a, b) => a + b) / 1e6).toFixed(1);
}

async function make() {
  for (const [name, html] of moved_pages()) write(name, html);
  copy_library();
  write('weights.js', weights_script());
  const takes = await first_takes(study, megabytes_of_models());
  const chapters = read_chapters().map((chapter) => ({ ...chapter, html: takes.into_player(chapter.html) }));
  for (const chapter of chapters)
    write(`${chapter.name}.html`, page(chapter, chapters, modules_in));
  const reference = fs.existsSync(path.join(folder, 'reference/index.html'));
  write('index.html', page(contents(chapters, await duet(takes), reference), chapters, modules_in));
  copy_katex();
  if (process.env.BOOK_URL) write('card.png', card());
}

make().catch((error) => {
  console.error(`book: ${error.message}`);
  process.exit(1);
});
