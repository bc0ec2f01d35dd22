// Numbers of chapters: the order of chapters/contents.json gives them. A link of the one word "chapter" gets the number
// of the chapter that it leads to.

const fs = require('node:fs');
const path = require('node:path');

const folder = path.resolve(__dirname, '../chapters');

/// The names of all chapters, in their order.
function contents() {
  const names = JSON.parse(fs.readFileSync(path.join(folder, 'contents.json'), 'utf8'));
  const files = fs.readdirSync(folder).filter((name) => name.endsWith('.md')).map((name) => name.slice(0, -3));
  for (const name of files)
    if (!names.includes(name)) throw new Error(`contents.json: ${name}.md is missing`);
  for (const [n, name] of names.entries())
    if (!files.includes(name) || names.indexOf(name) !== n)
      throw new Error(`contents.json: ${name}, expected each chapter once`);
  return names;
}

function numbers(markdown) {
  const names = contents();
  markdown.core.ruler.push('chapter_numbers', (state) => {
    for (const { children } of state.tokens)
      for (const [n, token] of (children ?? []).entries()) {
        if (token.type !== 'link_open' || !/^chapter$/i.test(children[n + 1].content)) continue;
        const [, target] = /^(\w+)\.html/.exec(token.attrGet('href')) ?? [];
        if (!names.includes(target)) throw new Error(`a chapter is ${token.attrGet('href')}, expected one of ours`);
        children[n + 1].content += ` ${names.indexOf(target) + 1}`;
      }
  });
}

module.exports = { contents, numbers };
