// Writes the pages of the book: one for each chapter, and the contents.
//
//     node book.js FOLDER STUDY.js
//
// STUDY.js is the library in WebAssembly.

const fs = require('node:fs');
const path = require('node:path');
const { read_chapter } = require('./chapter.js');
const { duet } = require('./duet.js');
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

/// A worker of a page from a disk cannot load a file. The page hands it this text instead.
function copy_library() {
  const source = fs.readFileSync(study, 'utf8');
  write('study.js', `globalThis.shiftgrad_source = ${JSON.stringify(source)};\n`);
}

async function make() {
  for (const [name, html] of moved_pages()) write(name, html);
  const chapters = read_chapters();
  for (const chapter of chapters)
    write(`${chapter.name}.html`, page(chapter, chapters, modules_in));
  const reference = fs.existsSync(path.join(folder, 'reference/index.html'));
  write('index.html', page(contents(chapters, await duet(study), reference), chapters, modules_in));
  copy_katex();
  copy_library();
  write('weights.js', weights_script());
  if (process.env.BOOK_URL) write('card.png', card());
}

make().catch((error) => {
  console.error(`book: ${error.message}`);
  process.exit(1);
});
