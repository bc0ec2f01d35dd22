// Models of chorales that examples/studies/bach has trained. Their weights, in bfloat16, are in the script weights.js beside
// the page (make/weights.js), which is loaded when the first of them is asked for.

import { from_script, kept, Library } from 'book/library.js';

const models = new Map();
const open = new Set();

async function opened(name) {
  const library = new Library();
  try {
    await library.ask({ do: 'open' }, (await from_script('weights.js', 'shiftgrad_weights'))[name]);
  } catch (error) {
    library.close().catch(() => {});
    throw error;
  }
  open.add(name);
  return library;
}

/// Whether a model is there.
export const is_open = (name) => open.has(name);

/// Loads a model into a worker of its own, if it is not there yet.
export function open_model(name) {
  if (!models.has(name)) models.set(name, kept(() => opened(name)));
  return models.get(name)();
}

/// Asks a model, which is loaded when it is first asked.
export async function ask_model(name, request) {
  return (await open_model(name)).ask(request);
}
