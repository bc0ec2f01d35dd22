// Models of chorales that examples/studies/bach has trained. Their weights, in bfloat16, are in the script weights.js beside
// the page (make/weights.js), which is loaded when the first of them is asked for.

import { from_script, Library } from 'book/library.js';

/// The bytes of a model's file, in base64. The script has the upper and the lower bytes of all weights apart.
async function file_of(name) {
  const { header, upper, lower } = (await from_script('weights.js', 'shiftgrad_weights'))[name];
  const [high, low] = [atob(upper), atob(lower)];
  const pieces = [atob(header)];
  for (let n = 0; n < high.length; ++n) pieces.push(low[n], high[n]);
  return btoa(pieces.join(''));
}

const models = new Map();

/// Asks a model, which is opened in a worker of its own when it is first asked.
export async function ask_model(name, request) {
  if (!models.has(name)) {
    const library = new Library();
    models.set(name, { library, opened: file_of(name).then((file) => library.ask({ do: 'open', file })) });
  }
  const { library, opened } = models.get(name);
  await opened;
  return library.ask(request);
}
