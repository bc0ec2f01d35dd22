// <exercise-check>: the answer to an exercise. The reader types a number, and the element says whether it is
// right. Where the answer is computed, the element shows requests to the library that the reader may change
// and run; they are those that the program `study` takes in a terminal.
//
// make/exercises.js adds the attribute `exercise`: {value, digits, hint, start} in JSON.

import { Library } from 'book/library.js';

const longest_list = 24;

/// JSON in one line, with spaces to break it at.
const in_a_line = (value) => JSON.stringify(value, null, 1).replace(/\n\s*/g, ' ');

/// An answer to read: of long lists only the number of entries and the last one.
function shortened(key, value) {
  if (!Array.isArray(value) || value.length <= longest_list) return value;
  return `${value.length} numbers, the last of them ${value.at(-1)}`;
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
<details>
  <summary>Ask the library</summary>
  <label>Requests, one on each line <textarea rows="8" spellcheck="false"></textarea></label>
  <div class="controls"><button type="button" name="run">Run</button><button type="button" name="reset">Reset</button></div>
  <pre tabindex="0" role="log" aria-label="Answers" hidden></pre>
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

  #reset() {
    this.querySelector('textarea').value = this.exercise.start.map(in_a_line).join('\n');
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
        lines.push(JSON.stringify(await library.ask(JSON.parse(line)), shortened));
    } catch (error) {
      lines.push(error.message);
    }
    answers.textContent = lines.join('\n');
    this.#button('run').disabled = false;
    library.close().catch(() => {});  // one that could not start has nothing to close
  }
});
