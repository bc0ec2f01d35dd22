// Numbers of chapters: the order of chapters/contents.json gives them. A chapter in a list with another one stands
// beside that: it is 6b beside 6, and who reads on passes it. A link of the one word "chapter" gets the number of the
// chapter that it leads to.

const fs = require('node:fs');
const path = require('node:path');

const folder = path.resolve(__dirname, '../chapters');

/// All chapters in their order: {name, order, beside}. `beside` names the chapter beside which one stands.
function contents() {
  const listed = JSON.parse(fs.readFileSync(path.join(folder, 'contents.json'), 'utf8'));
  const chapters = listed.flatMap((entry, n) => [entry].flat().map((name, at) =>
    at ? { name, order: `${n + 1}${'abcd'[at]}`, beside: entry[0] } : { name, order: String(n + 1) }));
  const names = chapters.map(({ name }) => name);
  const files = fs.readdirSync(folder).filter((name) => name.endsWith('.md')).map((name) => name.slice(0, -3));
  for (const name of files)
    if (!names.includes(name)) throw new Error(`contents.json: ${name}.md is missing`);
  for (const [n, name] of names.entries())
    if (!files.includes(name) || names.indexOf(name) !== n)
      throw new Error(`contents.json: ${name}, expected each chapter once`);
  return chapters;
}

function numbers(markdown) {
  const chapters = contents();
  markdown.core.ruler.push('chapter_numbers', (state) => {
    for (const { children } of state.tokens)
      for (const [n, token] of (children ?? []).entries()) {
        if (token.type !== 'link_open' || !/^chapter$/i.test(children[n + 1].content)) continue;
        const [, target] = /^(\w+)\.html/.exec(token.attrGet('href')) ?? [];
        const chapter = chapters.find(({ name }) => name === target);
        if (!chapter) throw new Error(`a chapter is ${token.attrGet('href')}, expected one of ours`);
        children[n + 1].content += ` ${chapter.order}`;
      }
  });
}

module.exports = { contents, numbers };
