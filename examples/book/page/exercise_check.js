// <exercise-check>: the answer to an exercise. The reader types a number, and the element says whether it is
// right. Where the answer is computed, the reader chooses what to compute and runs it. The requests to the library
// that follow from the choice may be read and changed, too; they are those that the program `study` takes in a
// terminal.
//
// make/exercises.js adds the attribute `exercise`: {value, digits, hint, start, controls} in JSON.

import { Library } from 'book/library.js';

const longest_list = 24;

/// JSON in one line, with spaces to break it at.
const in_a_line = (value) => JSON.stringify(value, null, 1).replace(/\n\s*/g, ' ');

/// A list to read: of a long one only the number of entries and the last one.
const listed = (values) => values.length > longest_list
  ? `${values.length} numbers, the last of them ${values.at(-1)}` : values.join(', ');

/// An answer to read: a line for each of its values, which is named by where it stands.
function readable(value, name = '') {
  if (Array.isArray(value) && value.every((entry) => typeof entry !== 'object')) return [`${name}: ${listed(value)}`];
  if (typeof value !== 'object' || value === null) return [`${name}: ${value}`];
  return Object.entries(value).flatMap(([key, part]) => readable(part, name ? `${name}.${key}` : key));
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

/// What to say of an answer that someone typed.
export function judged(text, { value, digits }) {
  const number = Number(text.trim().replace(',', '.').replace('−', '-'));
  if (text.trim() === '' || Number.isNaN(number)) return { right: false, say: 'Type a number.' };
  const given = text.trim().split(/[.,]/)[1]?.length ?? 0;
  // An answer with more digits than asked may have more than are known here.
  const right = Math.abs(number - value) <= (given > digits ? 0.5 * 10 ** -digits : 0) + 1e-9;
  if (right) return { right, say: 'Right.' };
  if (given < digits && number === Number(value.toFixed(given)))
    return { right, say: `Right so far. Give ${digits} digits after the point.` };
  return { right, say: 'Not yet.' };
}

const template = `
<form class="controls">
  <label>Your answer <input type="text" inputmode="decimal" size="10" autocomplete="off" name="answer"></label>
  <button>Check</button>
  <button type="button" name="hint" aria-expanded="false">Hint</button>
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
  connectedCallback() {
    if (this.exercise) return;
    this.exercise = JSON.parse(this.getAttribute('exercise'));
    this.innerHTML = template + (this.exercise.start ? laboratory : '');
    this.querySelector('form').addEventListener('submit', (event) => {
      event.preventDefault();
      this.#check();
    });
    this.#button('hint').addEventListener('click', () => this.#hint());
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
    const output = this.querySelector('output');
    const { right, say } = judged(this.querySelector('input').value, this.exercise);
    output.textContent = say;
    output.className = right ? 'right' : 'wrong';
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
    try {
      for (const line of this.querySelector('textarea').value.split('\n').filter((text) => text.trim()))
        lines.push(...readable(await library.ask(JSON.parse(line))));
    } catch (error) {
      lines.push(error.message);
    }
    answers.textContent = lines.join('\n');
    this.#button('run').disabled = false;
    library.close().catch(() => {});  // one that could not start has nothing to close
  }
});
