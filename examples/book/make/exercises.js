// Exercises: <exercise-check name="memory-reach"> gets what chapters/answers.json says of it. An entry has
//
//     value     the right number, rounded to `digits` digits after the point (0 where not given)
//     hint      a sentence that helps
//     slips     numbers that one gets by a usual mistake, each with the sentence that tells it
//     start     requests that the reader is given to change, as study.h lists them
//     controls  what the reader changes in them: {label, path, options}. A path leads from the list of requests to a
//               value; options are the values to choose from by name, where null takes the value away. Without
//               options it is a number or a list of numbers
//     requests  the changed requests
//     answer    where the value stands in the answer to the last of them: "losses.99"
//
// Without requests, the value follows by arithmetic.

const fs = require('node:fs');
const path = require('node:path');
const escape = require('markdown-it')().utils.escapeHtml;

const file = path.resolve(__dirname, '../chapters/answers.json');
const entries = JSON.parse(fs.readFileSync(file, 'utf8'));

/// What an element of this name has to know.
function attributes(name) {
  const entry = entries[name];
  if (!entry) throw new Error(`exercise ${name}: answers.json has none of this name`);
  const { value, digits = 0, hint, slips, start, controls, answer } = entry;
  return `exercise="${escape(JSON.stringify({ value, digits, hint, slips, start, controls, answer }))}"`;
}

/// Adds to each exercise in the HTML what it has to know.
function with_exercises(html) {
  return html.replace(/<exercise-check name="([^"]*)"/g, (tag, name) => `${tag} ${attributes(name)}`);
}

module.exports = { with_exercises };
