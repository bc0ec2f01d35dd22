// Checks the text of the book without building it; node alone will do. Each quote still stands in our sources, is short
// and is whole; beside each stands a short function in Python, and each of these is quoted; each exercise has one answer,
// each answer one exercise; no link leads nowhere.
//
//     node tests/examples/book/chapters.js

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

const book = path.resolve(__dirname, '../../../examples/book');
const { contents } = require(path.join(book, 'make/numbers.js'));
const { measured } = require(path.join(book, 'make/measured.js'));
const { python, quoted } = require(path.join(book, 'make/quotes.js'));
const longest_quote = 16, most_words = 900;
const lines_of_python = { least: 5, most: 15 };

const mistakes = [];
const expect = (holds, what) => holds || mistakes.push(what);
const all = (text, pattern) => [...text.matchAll(pattern)].map((match) => match.slice(1));

const folder = path.join(book, 'chapters');
const listed = contents(), chapters = listed.map(({ name }) => name);
const answers = fs.readFileSync(path.join(folder, 'answers.json'), 'utf8');
const entries = JSON.parse(answers);

function check_quotes(name, text) {
  for (const [kind, file, body] of all(text, /^```(quote|quote-text) (\S+).*\n([^]*?)^```$/gm)) {
    try {
      const lines = quoted(file, body).split('\n').length;
      expect(kind === 'quote-text' || lines <= longest_quote,
             `${name}: the quote of ${file} has ${lines} lines, expected at most ${longest_quote}`);
    } catch (error) {
      mistakes.push(`${name}: ${error.message}`);
    }
  }
}

/// Each quote has its function beside it, and no function is without a quote.
function check_python() {
  const asked = all(Object.values(texts).join('\n'), /^```quote \S+ ?(\S*)$/gm).flat();
  const files = fs.readdirSync(path.join(book, 'python')).filter((file) => file.endsWith('.py'));
  for (const name of files.map((file) => file.slice(0, -3))) expect(asked.includes(name), `python/${name}.py stands beside no quote`);
  for (const name of asked) {
    const found = said(() => python(name).code.split('\n')), count = found.length;
    if (typeof found === 'string') mistakes.push(found);
    else expect(count >= lines_of_python.least && count <= lines_of_python.most,
                `python/${name}.py has ${count} lines, expected ${lines_of_python.least} to ${lines_of_python.most}`);
  }
}

function check_measured(name, text) {
  for (const [line] of all(text, /^(::.*)$/gm)) {
    try {
      measured(line);
    } catch (error) {
      mistakes.push(`${name}: ${error.message}`);
    }
  }
}

/// What a try says: the lines of a quote, or why it is refused.
function said(run) {
  try {
    return run();
  } catch (error) {
    return error.message;
  }
}

/// A quote is whole: its code leaves no bracket open, its text is no part of a paragraph.
function check_refusals() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'quotes-')), project = path.resolve(book, '../..');
  const file = (name, text) => {
    fs.writeFileSync(path.join(folder, name), text);
    return path.relative(project, path.join(folder, name));
  };
  const code = file('code.cpp', 'int f() {\n  call("(", 1,\n       2);  // {\n  return 1;\n}\n');
  const text = file('text.md', '# A\nOne line\nand two.\n\n| a |\n|---|\n| 1 |\n| 2 |\n\n- first,\n  still first\n- second\n');
  for (const [of, body, expected] of [
    [code, 'call(', /a bracket stays open after "call\("\(", 1,"$/],
    [code, 'call(\n...\n2', /^call\("\(", 1,\n {5}2\);  \/\/ {$/],
    [code, 'int f\n...\n}', /^int f[^]*}$/],
    [code, 'int f\n...\nreturn', /no line begins with "return"/],
    [text, 'One', /the paragraph goes on after "One line" with "and two\."/],
    [text, 'and two', /the paragraph of "and two\." begins above it/],
    [text, '# A\nOne\n...\nand two', /^One line\nand two\.$/],
    [text, '| a\n...\n| 1', /^\| a \|\n\|---\|\n\| 1 \|$/],
    [text, '- first', /the paragraph goes on after "- first,"/],
    [text, '- second', /^- second$/],
  ]) {
    const found = said(() => quoted(of, body));
    expect(expected.test(found), `the quote ${JSON.stringify(body)} gives ${JSON.stringify(found)}, expected ${expected}`);
  }
  for (const [line, expected] of [
    ['::claim No such claim', /has no heading "## No such claim"/], ['::claims A memory helps', /expected "::claim/],
    ['::claim A memory helps, to the row nothing', /has no row "nothing"/], ['::paper Nobody', /has no row "Nobody"/],
  ]) {
    const found = said(() => measured(line));
    expect(expected.test(found), `"${line}" gives ${JSON.stringify(found)}, expected ${expected}`);
  }
  const { table, answer, rest } = measured('::claim A memory helps');
  expect(/^Transformer-XL, segments of 16[^]*\|$/.test(table) && answer.startsWith('**holds**') && rest.includes('segments of 64'),
         `a claim's parts are ${JSON.stringify([table, answer, rest])}`);
  expect(/^\| variant \|[^]*\n\| Transformer-XL \|.*\|$/.test(measured('::paper Transformer-XL').table), 'another row of a paper');
  fs.rmSync(folder, { recursive: true });
}

function check_links(name, text) {
  for (const [target] of all(text, /\]\((\w+)\.html[)#]/g))
    expect(chapters.includes(target), `${name}: a link leads to ${target}.html, and there is no such chapter`);
}

const in_line = listed.filter(({ beside }) => !beside).map(({ name }) => name);

/// A chapter is named by a link, to which the book gives its number, and the next one is the next one.
function check_numbers(name, text) {
  for (const [target] of all(text, /\[next\s+chapter\]\((\w+)\.html/g))
    expect(target === in_line[in_line.indexOf(name) + 1], `${name}: ${target} is not the next chapter`);
  expect(!/\bchapter\s+\d/i.test(text.replace(/^```[^]*?^```$/gm, '')), `${name}: a chapter's number, expected a link [chapter](…)`);
}

function check_exercises(name, asked) {
  const known = Object.keys(entries).filter((entry) => entry.startsWith(`${name}-`));
  for (const exercise of asked) {
    expect(exercise.startsWith(`${name}-`), `${name}: exercise ${exercise}, expected a name that begins with ${name}-`);
    expect(exercise in entries, `${name}: answers.json has no ${exercise}`);
  }
  for (const entry of known) expect(asked.includes(entry), `answers.json: ${entry} stands in no chapter`);
  expect(new Set(asked).size === asked.length, `${name}: an exercise stands there twice`);
}

/// Five minutes are at most so many words, in captions and headings too; equations do not count.
function check_five_minutes() {
  const text = texts.relative.replace(/^---[^]*?\n---/, '');
  const words = text.replace(/<[^>]*>|\$\$[^]*?\$\$|\$[^$]*\$|\]\([^)]*\)/g, ' ');
  const count = words.split(/\s+/).filter((word) => /[\p{L}\d]/u.test(word)).length;
  expect(count <= most_words, `relative: ${count} words, expected at most ${most_words}`);
}

/// Exercises are changed by their controls. The requests are there for those who unfold them.
function check_words(name, text) {
  const exercises = text.split('## Exercises')[1] ?? '';
  for (const word of ['The request', 'the request', '{"'])
    expect(!exercises.includes(word), `${name}: an exercise speaks of ${word}, expected of a control`);
}

function check_answers() {
  for (const [name, { value, digits = 0, hint, start, controls, requests, answer }] of Object.entries(entries)) {
    expect(typeof value === 'number' && Number(value.toFixed(digits)) === value,
           `answers.json: ${name} has ${value}, expected a number of ${digits} digits after the point`);
    expect(typeof hint === 'string' && hint, `answers.json: ${name} has no hint`);
    expect(Boolean(start) === Boolean(controls), `answers.json: ${name}, expected a start with controls`);
    expect(!/[{}"]/.test(hint), `answers.json: the hint of ${name} speaks of JSON, expected of a control: ${hint}`);
    expect(!start || requests, `answers.json: ${name} has a start and no requests`);
    expect(Boolean(requests) === Boolean(answer), `answers.json: ${name}, expected requests with an answer`);
    expect(chapters.some((chapter) => name.startsWith(`${chapter}-`)), `answers.json: ${name} is of no chapter`);
  }
  const lines = answers.trim().split('\n').length - 2;
  expect(lines === Object.keys(entries).length, `answers.json: ${lines} lines, expected one for each of its entries`);
}

/// No two chapters open with the same picture: their first figures are other elements. The sentence alone opens several,
/// and shows another thing of itself in each.
function check_openings(texts) {
  const opened = new Map();
  for (const [name, text] of Object.entries(texts)) {
    const [, element, first] = /<figure>\s*<([a-z-]+)([^>]*)>/.exec(text) ?? [];
    const picture = `${element} ${/ shows="[^"]*"/.exec(first ?? '') ?? ''}`;
    expect(element, `${name}.md: no figure`);
    expect(!opened.has(picture), `${name}.md opens as ${opened.get(picture)}.md does, with ${picture}`);
    opened.set(picture, name);
  }
}

const texts = Object.fromEntries(chapters.map((name) => [name, fs.readFileSync(path.join(folder, `${name}.md`), 'utf8')]));

for (const name of chapters) {
  const text = texts[name];
  check_numbers(name, text);
  check_quotes(name, text);
  check_measured(name, text);
  check_words(name, text);
  check_links(name, text);
  check_exercises(name, all(text, /<exercise-check name="([^"]*)"/g).flat());
}
check_openings(texts);
check_answers();
check_five_minutes();
check_python();
check_refusals();

for (const mistake of mistakes) console.error(`chapters: ${mistake}`);
process.exitCode = mistakes.length ? 1 : 0;
