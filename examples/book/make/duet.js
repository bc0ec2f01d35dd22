// The opening of the front page: two models go on from the same two bars (page/chorale_duet.js). What they write first is
// in the page itself, where it needs no JavaScript and can be printed.

const fs = require('node:fs');
const path = require('node:path');
const { result } = require('./measured.js');
const { page_module } = require('./page_modules.js');
const { folder } = require('./weights.js');

const told = {
  relative: '<b>Told how far back:</b> relative attention',
  absolute: '<b>Told only the place:</b> absolute positions',
};

/// What the library answers to requests, in order.
async function answers(study, requests) {
  const library = await require(path.resolve(study))();
  return requests.map((request) => {
    const answer = JSON.parse(library.ccall('answer', 'string', ['string'], [JSON.stringify(request)]));
    if (answer.error) throw new Error(answer.error);
    return answer;
  });
}

async function duet(study) {
  const { chorale, counted, drawn, models, request } = await page_module('two_models.js');
  const measured = (row, column) => result('bach', 'book', row, column);
  const between = (row) => `${measured(row, 'between')}\u00a0%`;
  const million = (measured('`music_transformer`', 'parameters') / 1e6).toFixed(1);
  const one = async ([name, model]) => {
    const file = fs.readFileSync(path.join(folder, `${model}.safetensors`)).toString('base64');
    const [, written] = await answers(study, [{ do: 'open', file }, request(1)]);
    return `<div data-model="${name}">
<p class="told">${told[name]}</p>
<div class="roll wide" tabindex="0" role="group" aria-label="Piano roll of the ${name} model">${drawn(chorale(written))}</div>
<p class="count"><span class="so-far"></span><span class="whole">${counted(chorale(written))}</span>
<span class="measured">in 16 chorales ${between(`\`${model}\``)}, in Bach’s ${between('Bach, the test text')}</span></p>
</div>`;
  };
  const halves = [];
  for (const model of Object.entries(models)) halves.push(await one(model));
  return `<p class="claim">Two models go on from the same two bars of Bach. Both look back at earlier notes. One is told
how far back each of them is, the other only its place, counted from the beginning.</p>
<figure>
<chorale-duet>
<div class="controls"><button type="button" name="play">Let them play</button>
<label>Hear <select name="heard"><option value="relative">the first</option><option value="absolute">the second</option><option value="none">nothing</option></select></label></div>
<p role="alert" hidden></p>
<p class="status" role="status"></p>
${halves.join('\n')}
</chorale-duet>
<figcaption>Bach wrote the shaded part. A circle marks a note of a model that misses the beat: it begins between two
eighths, the thin lines. What a chorale repeats, the beat above all, is always as far back, and each time at another
place: one model is told what the other must puzzle out. Both have ${million} million numbers and learned from the same
chorales in as many steps, by a recipe that was searched for the first alone. <a href="music.html">The chapter on music</a> measures more, and
<a href="relative.html">five minutes</a> explain how a model is told.</figcaption>
</figure>`;
}

module.exports = { duet };
