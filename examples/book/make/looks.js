// Writes looks.js beside the pages: their styles as a string, with the typefaces of figures in them, for pictures that
// are saved from a page (page/figure_picture.js). A page from a disk may not read the files of its styles.
//
//     node looks.js FOLDER

const fs = require('node:fs');
const path = require('node:path');

const [folder] = process.argv.slice(2);
const of_figures = ['sans', 'sans-bold', 'mono', 'KaTeX_Main-Regular', 'KaTeX_Math-Italic'];

/// A rule for a typeface holds its file, if figures have that typeface, and goes otherwise.
function with_typeface(rule) {
  const [address, name] = /url\(fonts\/([\w-]+)\.woff2\)/.exec(rule) ?? [];
  if (!of_figures.includes(name)) return '';
  const file = fs.readFileSync(path.join(folder, 'fonts', `${name}.woff2`), 'base64');
  return rule.replace(address, `url(data:font/woff2;base64,${file})`);
}

const styles = ['katex.css', 'book.css'].map((name) => fs.readFileSync(path.join(folder, name), 'utf8')).join('\n');
const looks = styles.replace(/@font-face\s*\{[^}]*\}/g, with_typeface);
fs.writeFileSync(path.join(folder, 'looks.js'), `globalThis.shiftgrad_looks = ${JSON.stringify(looks)};\n`);
