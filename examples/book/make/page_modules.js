// Modules of a page, for what is drawn when the book is made.

const { register } = require('node:module');
const path = require('node:path');
const { pathToFileURL } = require('node:url');

const folder = pathToFileURL(path.resolve(__dirname, '../page'));

// Modules import each other as "book/NAME", which a page's import map knows and node does not.
register(`data:text/javascript,${encodeURIComponent(`export const resolve = (name, context, next) => name.startsWith('book/')
  ? { url: '${folder}' + name.slice('book'.length), format: 'module', shortCircuit: true } : next(name, context);`)}`);

const page_module = (name) => import(`book/${name}`);

module.exports = { page_module };
