// The library that the book explains, in a worker, so that the page stays smooth while it computes.
//
//     const { tensors } = await ask({ do: 'run_layer', layer: 'rel_shift', config: {}, tensors: {…} });
//
// study.h lists the requests.

/// What the worker does once the library is loaded.
const serve = `
study().then((library) => {
  self.onmessage = ({ data: { id, request } }) =>
    self.postMessage({ id, answer: library.ccall('answer', 'string', ['string'], [request]) });
  self.postMessage({ id: 0 });
}, (error) => self.postMessage({ id: 0, error: String(error) }));
`;

const loaded = new Map();

/// What the script `file` beside the page leaves in the global `name`, loaded once. A page from a disk may load a
/// script, but it may not read a file.
export function from_script(file, name) {
  if (!loaded.has(file))
    loaded.set(file, new Promise((resolve, reject) => {
      const script = Object.assign(document.createElement('script'), { src: file });
      script.onload = () => resolve(globalThis[name]);
      script.onerror = () => reject(new Error(`${file} is missing beside this page`));
      document.head.append(script);
    }));
  return loaded.get(file);
}

/// A library of its own: a worker with one training. Requests are answered in order.
export class Library {
  #waiting = new Map();
  #count = 0;
  #worker = this.#start();

  async #start() {
    const source = await from_script('study.js', 'shiftgrad_source');
    const address = URL.createObjectURL(new Blob([source, serve], { type: 'text/javascript' }));
    const worker = new Worker(address);
    await new Promise((resolve, reject) => {
      worker.onmessage = ({ data }) => data.error ? reject(new Error(data.error)) : resolve();
      worker.onerror = (event) => reject(new Error(event.message));
    });
    URL.revokeObjectURL(address);
    worker.onmessage = ({ data }) => this.#settle(data.id, ({ resolve }) => resolve(data.answer));
    worker.onerror = (event) => {
      for (const id of this.#waiting.keys()) this.#settle(id, ({ reject }) => reject(new Error(event.message)));
    };
    return worker;
  }

  #settle(id, how) {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (waiting) how(waiting);
  }

  /// Returns the answer to a request. Throws the error that the library answers.
  async ask(request) {
    const worker = await this.#worker;
    const id = ++this.#count;
    const text = await new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      worker.postMessage({ id, request: JSON.stringify(request) });
    });
    const answer = JSON.parse(text);
    if (answer.error) throw new Error(answer.error);
    return answer;
  }

  /// Ends the worker, whatever it is computing. What was asked stays without an answer.
  async close() {
    (await this.#worker).terminate();
  }
}

let shared;

/// Asks the library that all figures of the page share. A figure that trains has a Library of its own.
export function ask(request) {
  shared ??= new Library();
  return shared.ask(request);
}
