// The frame of a page: what stands around each chapter, and the page of contents.

const escape = require('markdown-it')().utils.escapeHtml;
const { with_addresses } = require('./figures.js');
const { social_tags } = require('./social_card.js');
const { where } = require('./where.js');

const url = process.env.BOOK_URL;

const link = (chapter, attributes = '') => `<a href="${chapter.name}.html"${attributes}>${escape(chapter.title)}</a>`;

/// No line of a title ends within a word such as Transformer-XL.
const unbroken = (title) => title.replace(/\w+-\w+/g, '<span class="unbroken">$&</span>');

/// The exercises of a chapter, as an attribute (page/finished_exercises.js).
function exercises({ html }) {
  const names = [...html.matchAll(/<exercise-check name="([^"]*)"/g)].map(([, name]) => name);
  return names.length ? ` data-exercises="${names.join(' ')}"` : '';
}

/// All chapters, in order. The one that is open is marked.
function list(chapters, here) {
  const row = (chapter) => `<li value="${parseInt(chapter.order)}"${exercises(chapter)}${chapter.beside ? ' class="beside-chapter"' : ''}>`;
  const rows = chapters.map((chapter) =>
    `${row(chapter)}${link(chapter, chapter === here ? ' aria-current="page"' : '')}</li>`);
  return `<ol>\n${rows.join('\n')}\n</ol>`;
}

/// The chapters before and after one, and that which stands beside it. Who reads on passes the latter.
function neighbours(chapters, here) {
  const n = chapters.indexOf(here);
  const before = here.beside ? chapters[n - 1] : chapters.findLast(({ beside }, at) => at < n && !beside);
  const after = chapters.find(({ beside }, at) => at > n && !beside);
  const aside = chapters.find(({ beside }) => beside === here.name);
  return `<nav class="neighbours" aria-label="Previous and next chapter">
${before ? `<span>Previous <b>${link(before, ' rel="prev"')}</b></span>` : '<span></span>'}
${aside ? `<span>Beside this <b>${link(aside)}</b></span>` : ''}
${after ? `<span>Next <b>${link(after, ' rel="next"')}</b></span>` : '<span></span>'}
</nav>`;
}

/// How far a reader has come.
function progress(chapters, here) {
  const count = chapters.filter(({ beside }) => !beside).length;
  const at = here.beside ? `Beside chapter ${parseInt(here.order)}` : `Chapter ${here.order} of ${count}`;
  return `<label class="progress">${at} <progress value="${parseInt(here.order)}" max="${count}"></progress></label>`;
}

/// The contents of a page: its main headings.
function sections({ headings }) {
  const rows = headings.map(({ id, html }) => `<li><a href="#${id}">${html}</a></li>`);
  return `<nav class="on-page" aria-label="On this page">
<b>On this page</b>
<ul>
${rows.join('\n')}
</ul>
</nav>
`;
}

/// Where a reader may begin.
function doors(chapters) {
  const rows = [
    ['relative', 'Five minutes', 'One sentence of six words, eleven pictures. Matrices are enough to follow.'],
    [chapters.find(({ name }) => name !== 'relative').name, 'The whole book', 'Each variant has a chapter, from the Transformer’s attention on.'],
    ['blog_posts', 'I come from another page', 'What well-known posts and code call things, and mistakes that we met.'],
  ];
  return `<nav class="doors" aria-label="Where to begin">
${rows.map(([name, title, text]) => `<a href="${name}.html"><b>${title}</b> <span>${text}</span></a>`).join('\n')}
</nav>
<p class="short-way">After the five minutes, the straight way leads to the <a href="positions.html#line-by-line">four
terms</a>, the <a href="shift.html#the-idea">shift</a> and the <a href="memory.html#the-idea">memory</a> of relative
attention, and <a href="transformer_xl.html">one page</a> has all of it. The chapters between can wait.</p>`;
}

/// The page of contents, as a chapter. It opens with a figure.
function contents(chapters, opening, reference) {
  const rows = chapters.map((chapter) =>
    `<li value="${parseInt(chapter.order)}"${exercises(chapter)}>${chapter.order} ${link(chapter)}${escape(chapter.summary)}</li>`);
  const numbered = (name) => `<a href="${name}.html">chapter ${chapters.find((one) => one.name === name).order}</a>`;
  return {
    name: 'index',
    title: 'Relative attention, running',
    summary: 'A book about relative attention and attention-free transformers whose figures run the library they explain.',
    html: `${opening}
${doors(chapters)}
<p>Most chapters after the first take derivatives for granted, too; ${numbered('whole_model')} builds a whole model.
Figures compute their numbers on the page with shiftgrad, the C++ library that the book explains, compiled to
WebAssembly. The pictures of ${numbered('relative')} and the first notes above were made with the book, and tests
compare them with the library.</p>
<ol class="contents">
${rows.join('\n')}
</ol>${reference ? '\n<p>The <a href="reference/index.html">reference</a> has each public header of the library.</p>' : ''}
<p>The book is under the <a href="notices.txt">licences</a> of shiftgrad and of what it uses: KaTeX, typefaces, Emscripten.</p>`,
  };
}

/// Says what is missing where there is no JavaScript, on a page with figures or exercises that need it.
function without_scripts(html) {
  if (!/<[a-z]+-[a-z]/.test(html)) return '';
  return `<noscript><p class="without-scripts">Without JavaScript, figures show how they begin, and nothing here
computes, plays or checks an answer.</p></noscript>\n`;
}

/// Over http the typefaces that a page begins with are asked for beside its styles, and not once these and its scripts have
/// come. A page from a disk may not ask for them in this way, and has them at once.
const fonts_first = `<script>if (location.protocol !== 'file:')
  for (const name of ['serif', 'sans', 'serif-bold', 'sans-bold'])
    document.head.append(Object.assign(document.createElement('link'),
      { rel: 'preload', as: 'font', type: 'font/woff2', crossOrigin: '', href: 'fonts/' + name + '.woff2' }));</script>`;

/// Returns the HTML of a chapter's page. `modules_in` names the modules that some HTML needs.
function page(chapter, chapters, modules_in) {
  const is_chapter = chapters.includes(chapter);
  const end = is_chapter ? neighbours(chapters, chapter) : '';
  const frame = ['color_scheme.js', 'finished_exercises.js', 'number_inputs.js', ...is_chapter ? ['glossary_bubble.js', 'on_page.js', 'tab_stops.js'] : [],
    ...where(chapter) ? ['score_strip.js'] : []];
  const imports = [...frame, ...modules_in(chapter.html), 'figure_tools.js'].map((name) => `import "book/${name}";`);
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escape(chapter.title)}${is_chapter ? ' · shiftgrad' : ''}</title>
<meta name="description" content="${escape(chapter.summary)}">
${url ? social_tags(chapter, url, escape) : ''}
<link rel="icon" href="data:,">
${fonts_first}
<link rel="stylesheet" href="katex.css">
<link rel="stylesheet" href="book.css">
<script src="components.js"></script>
<script src="copy-tex.js" defer></script>
<script type="module">
${imports.join('\n')}
</script>
</head>
<body class="book${is_chapter ? '' : ' front'}">
<a class="skip" href="#text">Skip to the text</a>
<header>
<a class="home" href="index.html">shiftgrad: the book</a>
<details class="chapters"><summary>Chapters</summary><nav aria-label="Chapters">${list(chapters, chapter)}</nav></details>
${is_chapter ? progress(chapters, chapter) : ''}
<color-scheme></color-scheme>
</header>
${is_chapter ? sections(chapter) : ''}<main id="text">
<h1>${is_chapter ? `<span class="order">Chapter ${chapter.order}</span> ` : ''}${unbroken(escape(chapter.title))}</h1>
${where(chapter)}${without_scripts(chapter.html)}${with_addresses(chapter.html)}
</main>
<footer>
${end}
</footer>
</body>
</html>
`;
}

module.exports = { page, contents };
