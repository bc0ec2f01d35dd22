// <exercise-check>: the answer to an exercise. The reader types a number, and the element says whether it is
// right. Where the answer is computed, the reader chooses what to compute and runs it. The requests to the library
// that follow from the choice may be read and changed, too; they are those that the program `study` takes in a
// terminal.
//
// make/exercises.js adds the attribute `exercise`: {value, digits, hint, slips, start, controls, answer} in JSON.

import { fixed, part } from 'book/elements.js';
import { finished, note_finished } from 'book/finished_exercises.js';
import { Library } from 'book/library.js';

const longest_list = 24, longest_matrix = 96;
const tries = 2;  // before the solution is offered

/// JSON in one line, with spaces to break it at.
const in_a_line = (value) => JSON.stringify(value, null, 1).replace(/\n\s*/g, ' ');

/// A tensor to read: its rows below each other, the columns in line, and an empty line between matrices.
function matrix({ shape, values }) {
  const texts = values.map((value) => String(Number(value.toPrecision(6)))), width = Math.max(...texts.map(({ length }) => length));
  const columns = shape.at(-1) ?? 1, rows = shape.at(-2) ?? 1;
  return Array.from({ length: texts.length / columns }, (_, n) =>
    (n && n % rows === 0 ? '\n' : '') + texts.slice(n * columns, (n + 1) * columns).map((text) => text.padStart(width)).join('  '));
}

const is_tensor = (value) => Array.isArray(value?.shape) && Array.isArray(value.values) && value.values.length <= longest_matrix;

/// A list to read: of a long one only the number of entries and the last one.
const listed = (values) => values.length > longest_list
  ? `${values.length} numbers, the last of them ${values.at(-1)}` : values.join(', ');

/// A tensor with what else is said of it. What has as many numbers, as its gradient has, is laid out like it.
function readable_tensor({ shape, values, ...rest }, name) {
  const is_alike = (value) => Array.isArray(value) && value.length === values.length;
  const laid_out = (of, list) => [`${of} [${shape.join(', ')}]`, ...matrix({ shape, values: list })];
  return [...laid_out(name, values), ...Object.entries(rest).flatMap(([key, value]) =>
    is_alike(value) ? laid_out(`${name}.${key}`, value) : readable(value, `${name}.${key}`))];
}

/// An answer to read: a line for each of its values, which is named by where it stands.
function readable(value, name = '') {
  if (Array.isArray(value) && value.every((entry) => typeof entry !== 'object')) return [`${name}: ${listed(value)}`];
  if (typeof value !== 'object' || value === null) return [`${name}: ${value}`];
  if (is_tensor(value)) return readable_tensor(value, name);
  return Object.entries(value).flatMap(([key, part]) => readable(part, name ? `${name}.${key}` : key));
}

/// An answer to read: of several tensors the one that is asked for, if there is one.
function told(answer, named) {
  const [, name] = named?.split('.') ?? [], tensor = answer.tensors?.[name];
  return tensor ? readable(tensor, name) : readable(answer);
}

/// The requests with what is chosen: `choices` has a value for each of the controls.
export function chosen_requests(start, controls, choices) {
  const requests = structuredClone(start);
  controls.forEach(({ path }, n) => {
    const last = path.at(-1), place = path.slice(0, -1).reduce((part, key) => part[key], requests);
    if (choices[n] === null) delete place[last];
    else place[last] = choices[n];
  });
  return requests;
}

/// The numbers {number, given} that a text may mean, `given` digits after the point. "14/2", "50 %" and "512 tokens" are
/// numbers, and the comma of "1,024" stands between thousands or before digits.
export function numbers_in(text) {
  const parts = /^(-?[\d.,]*\d)(?:\s*\/\s*([\d.,]*\d))?\s*(%|\p{L}[\p{L}\s]*)?\.?$/u.exec(text.trim().replaceAll('−', '-'));
  if (!parts) return [];
  const [, above, below, unit] = parts;
  const forms = (one) => [one.replace(',', '.'), ...(/^-?\d{1,3}(,\d{3})+(\.\d+)?$/.test(one) ? [one.replaceAll(',', '')] : [])]
    .filter((form) => !Number.isNaN(Number(form)));
  if (below !== undefined)
    return forms(above).flatMap((x) => forms(below).map((y) => ({ number: Number(x) / Number(y), given: Infinity })));
  const found = forms(above).map((form) => ({ number: Number(form), given: form.split('.')[1]?.length ?? 0 }));
  return unit === '%' ? [...found, ...found.map(({ number, given }) => ({ number: number / 100, given: given + 2 }))] : found;
}

/// What to say of one number, or nothing where it is wrong.
function judged_number({ number, given }, { value, digits }) {
  // An answer with more digits than asked may have more than are known here.
  const right = Math.abs(number - value) <= (given > digits ? 0.5 * 10 ** -digits : 0) + 1e-9;
  if (right) return { right, say: 'Right.' };
  if (given < digits && number === Number(value.toFixed(given)))
    return { right, say: `Right so far. Give ${digits} digits after the point.` };
  return null;
}

/// What to say of an answer that someone typed.
export function judged(text, exercise) {
  const { value, digits, slips = [] } = exercise, numbers = numbers_in(text);
  if (!numbers.length) return { right: false, say: 'Type a number.' };
  const good = numbers.map((one) => judged_number(one, exercise)).find(Boolean);
  if (good) return good;
  const slip = slips.find(([wrong]) => numbers.some(({ number }) => Math.abs(number - wrong) <= 0.5 * 10 ** -Math.max(digits, 3)));
  if (slip) return { right: false, say: `Not yet. ${slip[1]}` };
  const is_next = digits === 0 && numbers.some(({ number }) => Math.abs(number - value) === 1);
  return { right: false, say: is_next ? 'Not yet: it is off by one. Does the first one count, or the last?' : 'Not yet.' };
}

const template = `
<form class="controls">
  <label>Answer <input type="text" inputmode="decimal" size="7" autocomplete="off" name="answer"></label>
  <button>Check</button>
  <button type="button" name="hint" aria-expanded="false">Hint</button>
  <button type="button" name="solution" hidden>Solution</button>
  <output></output>
</form>
<p class="exercise-hint" hidden></p>`;

const laboratory = `
<div class="controls choices"><button type="button" name="run">Compute</button></div>
<pre tabindex="0" role="log" aria-label="Answers" hidden></pre>
<details>
  <summary>The requests to the library, in JSON</summary>
  <label>Requests, one on each line <textarea rows="8" spellcheck="false"></textarea></label>
  <div class="controls"><button type="button" name="reset">Reset</button></div>
</details>`;

customElements.define('exercise-check', class extends HTMLElement {
  #wrong = 0;  // tries so far

  connectedCallback() {
    if (this.exercise) return;
    this.exercise = JSON.parse(this.getAttribute('exercise'));
    this.innerHTML = template + (this.exercise.start ? laboratory : '');
    this.querySelector('form').addEventListener('submit', (event) => {
      event.preventDefault();
      this.#check();
    });
    this.#button('hint').addEventListener('click', () => this.#hint());
    this.#button('solution').addEventListener('click', () => this.#solve());
    if (finished().has(this.getAttribute('name'))) this.#say('✓ You had it right.', 'right');
    if (!this.exercise.start) return;
    this.#button('run').addEventListener('click', () => this.#run());
    this.#button('reset').addEventListener('click', () => this.#reset());
    this.querySelector('.choices').prepend(...this.exercise.controls.map((control) => this.#control(control)));
    this.#reset();
  }

  #button(name) {
    return this.querySelector(`button[name=${name}]`);
  }

  #check() {
    const { right, say } = judged(part(this, 'answer').value, this.exercise);
    this.#say(say, right ? 'right' : 'wrong');
    if (right) note_finished(this.getAttribute('name'));
    else if (say !== 'Type a number.') this.#button('solution').hidden = ++this.#wrong < tries;
  }

  #say(text, kind) { Object.assign(this.querySelector('output'), { textContent: text, className: kind }); }

  #solve() {
    const { value, digits, hint } = this.exercise;
    this.#say(`The answer is ${fixed(value, digits)}. ${hint}`, 'solution');
  }

  #hint() {
    const hint = this.querySelector('.exercise-hint');
    hint.textContent = this.exercise.hint;
    hint.hidden = !hint.hidden;
    this.#button('hint').setAttribute('aria-expanded', String(!hint.hidden));
  }

  /// What is there before the reader changes it.
  #given({ path }) { return path.reduce((part, key) => part?.[key], this.exercise.start) ?? null; }

  #control(control) {
    const label = Object.assign(document.createElement('label'), { textContent: `${control.label} ` });
    const { options } = control;
    const input = document.createElement(options ? 'select' : 'input');
    if (options) input.append(...Object.keys(options).map((name) => new Option(name)));
    else Object.assign(input, { type: 'text', inputMode: 'numeric', size: String(this.#given(control)).length + 4 });
    input.addEventListener('input', () => this.#choose());
    label.append(input);
    return label;
  }

  /// Writes the requests that follow from what is chosen.
  #choose() {
    const inputs = [...this.querySelectorAll('.choices :is(select, input)')];
    const choices = this.exercise.controls.map((control, n) => {
      const { value } = inputs[n];
      if (control.options) return control.options[value];
      const numbers = value.split(/[\s,;]+/).filter(Boolean).map(Number);
      return Array.isArray(this.#given(control)) ? numbers : numbers[0] ?? null;
    });
    this.#write(chosen_requests(this.exercise.start, this.exercise.controls, choices));
  }

  #write(requests) { this.querySelector('textarea').value = requests.map(in_a_line).join('\n'); }

  #reset() {
    const inputs = this.querySelectorAll('.choices :is(select, input)');
    this.exercise.controls.forEach((control, n) => {
      const given = this.#given(control), same = (value) => JSON.stringify(value) === JSON.stringify(given);
      inputs[n].value = control.options ? Object.keys(control.options).find((name) => same(control.options[name]))
        : Array.isArray(given) ? given.join(', ') : given;
    });
    this.#write(this.exercise.start);
  }

  /// Asks a library of its own, so that no figure's training is disturbed.
  async #run() {
    const answers = this.querySelector('pre');
    answers.textContent = 'Computing …';
    answers.hidden = false;
    this.#button('run').disabled = true;
    const library = new Library();
    const lines = [];
    const named = /^(tensors\.\w+)\.values\./.exec(this.exercise.answer ?? '')?.[1];  // the tensor that has the answer
    try {
      for (const line of this.querySelector('textarea').value.split('\n').filter((text) => text.trim()))
        lines.push(...told(await library.ask(JSON.parse(line)), named));
    } catch (error) {
      lines.push(error.message);
    }
    answers.textContent = lines.join('\n');
    this.#button('run').disabled = false;
    library.close().catch(() => {});  // one that could not start has nothing to close
  }
});
