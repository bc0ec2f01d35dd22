// The library that the book explains, in a worker, so that the page stays smooth while it computes.
//
//     const { tensors } = await ask({ do: 'run_layer', layer: 'rel_shift', config: {}, tensors: {…} });
//
// study.h lists the requests. What could not be loaded is loaded anew when it is next asked for.

import { serve } from 'book/library_worker.js';

/// Returns a function that calls `make` when it is first called, and returns the same promise from then on, until
/// that fails.
export function kept(make) {
  let made = null;
  return () => made ??= make().catch((error) => {
    made = null;
    throw error;
  });
}

const from_disk = location.protocol === 'file:';

const unloaded = (file) => new Error(from_disk ? `The file ${file} is missing beside this page.`
  : `${file} did not arrive. Once you are online, try again.`);

const scripts = new Map();

/// What the script `file` beside the page leaves in the global `name`, loaded once. A page from a disk may load a
/// script, but it may not read a file.
export function from_script(file, name) {
  if (!scripts.has(file))
    scripts.set(file, kept(() => new Promise((resolve, reject) => {
      const script = Object.assign(document.createElement('script'), { src: file });
      script.onload = () => resolve(globalThis[name]);
      script.onerror = () => {
        script.remove();
        reject(unloaded(file));
      };
      document.head.append(script);
    })));
  return scripts.get(file)();
}

/// The compiled library: a file over http, and from a disk a script that has the file in base64.
async function binary() {
  if (from_disk) {
    const base64 = await from_script('study_wasm.js', 'shiftgrad_wasm');
    return (await fetch(`data:application/wasm;base64,${base64}`)).arrayBuffer();
  }
  const response = await fetch('study.wasm').catch(() => null);
  const bytes = response?.ok && await response.arrayBuffer().catch(() => null);
  if (!bytes) throw unloaded('study.wasm');
  return bytes;
}

/// Both parts of the library: its code, which all workers share, and the script around it.
const loaded = kept(async () => {
  const [source, bytes] = await Promise.all([from_script('study.js', 'shiftgrad_source'), binary()]);
  return { source, code: await WebAssembly.compile(bytes) };
});

/// A library of its own: a worker with one training. Requests are answered in order.
export class Library {
  #waiting = new Map();
  #count = 0;
  #worker = kept(() => this.#start());

  constructor() { this.#worker().catch(() => {}); }  // who asks is told

  async #start() {
    const { source, code } = await loaded();
    const address = URL.createObjectURL(new Blob([source, `(${serve})();`], { type: 'text/javascript' }));
    const worker = new Worker(address);
    await new Promise((resolve, reject) => {
      worker.onmessage = ({ data }) => data.error ? reject(new Error(data.error)) : resolve();
      worker.onerror = (event) => reject(new Error(event.message));
      worker.postMessage(code);
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

  /// Returns the answer to a request. Throws the error that the library answers. `weights` become its file, in the
  /// worker.
  async ask(request, weights) {
    const worker = await this.#worker();
    const id = ++this.#count;
    const text = await new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      worker.postMessage({ id, request, weights });
    });
    const answer = JSON.parse(text);
    if (answer.error) throw new Error(answer.error);
    return answer;
  }

  /// Ends the worker, whatever it is computing. What was asked stays without an answer.
  async close() {
    (await this.#worker()).terminate();
  }
}

let shared;

/// Asks the library that all figures of the page share. A figure that trains has a Library of its own.
export function ask(request) {
  shared ??= new Library();
  return shared.ask(request);
}
