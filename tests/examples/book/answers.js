// Asks the library again for each answer to an exercise, and compares it with what answers.json says, to all
// of its digits. What the reader begins with must have another answer.
//
//     node tests/examples/book/answers.js PROGRAM ARGUMENT…
//
// The program answers requests as `study` does, such as `node examples/book/lines.js STUDY.js`. Trainings have
// these digits in WebAssembly, and in a portable build that computes with SSE4.

const fs = require('node:fs');
const path = require('node:path');
const { ask } = require('./asking.js');

const file = path.resolve(__dirname, '../../../examples/book/chapters/answers.json');
const exercises = Object.entries(JSON.parse(fs.readFileSync(file, 'utf8'))).filter(([, { requests }]) => requests);

const at = (answer, place) => place.split('.').reduce((value, key) => value?.[key], answer);

const asked = exercises.flatMap(([, { start = [], requests }]) => [...start, ...requests]);
const answers = ask(process.argv.slice(2), asked);
let failures = 0;
for (const [name, { value, digits = 0, start = [], requests, answer }] of exercises) {
  const begun = answers.splice(0, start.length).at(-1);
  const last = answers.splice(0, requests.length).at(-1);
  const found = at(last, answer);
  const right = typeof found === 'number' && Number(found.toFixed(digits)) === value;
  const trivial = start.length > 0 && at(begun, answer)?.toFixed(digits) === found?.toFixed(digits);
  if (!right) console.error(`answers: ${name} is ${last.error ?? found}, expected ${value}`);
  if (trivial) console.error(`answers: ${name} is ${found} before any change, too`);
  failures += !right + trivial;
}
console.log(`${exercises.length - failures} of ${exercises.length} answers`);
process.exitCode = failures ? 1 : 0;
