// Checks the text of the book without building it; node alone will do. Each quote still stands in our sources
// and is short; each exercise has one answer, each answer one exercise; no link leads nowhere.
//
//     node tests/examples/book/chapters.js

const fs = require('node:fs');
const path = require('node:path');

const book = path.resolve(__dirname, '../../../examples/book');
const { contents } = require(path.join(book, 'make/numbers.js'));
const { quoted } = require(path.join(book, 'make/quotes.js'));
const longest_quote = 16;

const mistakes = [];
const expect = (holds, what) => holds || mistakes.push(what);
const all = (text, pattern) => [...text.matchAll(pattern)].map((match) => match.slice(1));

const folder = path.join(book, 'chapters');
const chapters = contents();
const answers = fs.readFileSync(path.join(folder, 'answers.json'), 'utf8');
const entries = JSON.parse(answers);

function check_quotes(name, text) {
  for (const [kind, file, body] of all(text, /^```(quote|quote-text) (\S+)\n([^]*?)^```$/gm)) {
    try {
      const lines = quoted(file, body).split('\n').length;
      expect(kind === 'quote-text' || lines <= longest_quote,
             `${name}: the quote of ${file} has ${lines} lines, expected at most ${longest_quote}`);
    } catch (error) {
      mistakes.push(`${name}: ${error.message}`);
    }
  }
}

function check_links(name, text) {
  for (const [target] of all(text, /\]\((\w+)\.html[)#]/g))
    expect(chapters.includes(target), `${name}: a link leads to ${target}.html, and there is no such chapter`);
}

/// A chapter is named by a link, to which the book gives its number, and the next one is the next one.
function check_numbers(name, text) {
  for (const [target] of all(text, /\[next\s+chapter\]\((\w+)\.html/g))
    expect(target === chapters[chapters.indexOf(name) + 1], `${name}: ${target} is not the next chapter`);
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

const texts = Object.fromEntries(chapters.map((name) => [name, fs.readFileSync(path.join(folder, `${name}.md`), 'utf8')]));

for (const name of chapters) {
  const text = texts[name];
  check_numbers(name, text);
  check_quotes(name, text);
  check_words(name, text);
  check_links(name, text);
  check_exercises(name, all(text, /<exercise-check name="([^"]*)"/g).flat());
}
check_answers();

for (const mistake of mistakes) console.error(`chapters: ${mistake}`);
process.exitCode = mistakes.length ? 1 : 0;
