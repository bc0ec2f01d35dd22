// What the two models of chorales write first (page/two_models.js). It is in the pages themselves, so that it can be read
// and played before anything is loaded.

const fs = require('node:fs');
const path = require('node:path');
const { utils } = require('markdown-it')();
const { page_module } = require('./page_modules.js');
const { folder } = require('./weights.js');

/// What the library answers to requests, in order.
async function answers(study, requests) {
  const library = await require(path.resolve(study))();
  return requests.map((request) => {
    const answer = JSON.parse(library.ccall('answer', 'string', ['string'], [JSON.stringify(request)]));
    if (answer.error) throw new Error(answer.error);
    return answer;
  });
}

/// Returns the chorales so far, {relative, absolute}, attributes of the figures with them, and a function that gives
/// these to the <chorale-player> of a page. `megabytes` are loaded before a model writes more.
async function first_takes(study, megabytes) {
  const { chorale, models, request } = await page_module('two_models.js');
  const texts = {};
  for (const [name, model] of Object.entries(models)) {
    const file = fs.readFileSync(path.join(folder, `${model}.safetensors`)).toString('base64');
    texts[name] = chorale((await answers(study, [{ do: 'open', file }, request(1)]))[1]);
  }
  const attributes = [...Object.entries(texts), ['megabytes', megabytes]]
    .map(([name, value]) => ` ${name}="${utils.escapeHtml(value)}"`).join('');
  const into_player = (html) => html.replace('<chorale-player>', () => `<chorale-player${attributes}>`);
  return { texts, attributes, into_player };
}

module.exports = { first_takes };
