// The opening of the front page: two models go on from the same two bars (page/chorale_duet.js). What they write first is
// drawn in the page itself, where it needs no JavaScript and can be printed.

const { result } = require('./measured.js');
const { page_module } = require('./page_modules.js');

const told = {
  relative: '<b>Told how far back:</b> relative attention',
  absolute: '<b>Told only the place:</b> absolute positions',
};

async function duet({ texts, attributes }) {
  const { counted, drawn, in_words, models } = await page_module('two_models.js');
  const measured = (row, column) => result('bach', 'book', row, column);
  const between = (row) => `${measured(row, 'between')}\u00a0%`;
  const million = (measured('`music_transformer`', 'parameters') / 1e6).toFixed(1);
  const half = ([name, model]) => `<div data-model="${name}">
<p class="told">${told[name]}</p>
<div class="roll wide" tabindex="0" role="group" aria-label="Piano roll of the ${name} model">${drawn(texts[name])}</div>
<p class="in-words">${in_words(texts[name])}</p>
<p class="count"><span class="so-far"></span><span class="whole">${counted(texts[name])}</span>
<span class="measured">in 16 chorales ${between(`\`${model}\``)}, and in Bach’s own ${between('Bach, the test text')}</span></p>
</div>`;
  return `<p class="claim">Two models go on from the same two bars of Bach. Both look back at earlier notes. One is told
how far back each of them is, the other only its place, counted from the beginning.</p>
<figure>
<chorale-duet${attributes}>
<div class="controls"><button type="button" name="play" class="primary">Let them play</button>
<label>Hear <select name="heard"><option value="relative">the one told how far back</option><option value="absolute">the one told only the place</option><option value="none">nothing</option></select></label></div>
<p role="alert" hidden></p>
<p class="status" role="status"></p>
${Object.entries(models).map(half).join('\n')}
</chorale-duet>
<figcaption>Bach wrote the shaded part. A circle marks a note of a model that misses the beat: it begins between two
eighths, the thin lines. The first take came with this page, and <i>Play again</i> has both models write a new one. Both
learned the same chorales in as many steps, by a recipe that was searched for the first alone.
<details class="more"><summary>Why one keeps the beat, and how it was counted</summary>
<p>What a chorale repeats, the beat above all, is always as far back, and each time at another place: one model is told
what the other must puzzle out. Both have ${million} million numbers. The shares in grey are those of 16 chorales that
each wrote from the first note on. There as here, a model chooses among the likeliest notes, which together have 95 % of
the odds (top_p 0.95), so the first one misses the beat more rarely than Bach. <a href="music.html">The chapter on
music</a> measures more, and <a href="relative.html">five minutes</a> explain how a model is told.</p></details></figcaption>
</figure>`;
}

module.exports = { duet };
