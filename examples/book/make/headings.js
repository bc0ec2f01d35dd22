// Headings in Markdown get an id from their words, and a link to themselves, which a reader can copy. `env.headings`
// lists the main ones for the contents of the page.

/// What a heading says, in letters that a link can have.
function slug(title) {
  return title.toLowerCase().normalize('NFD').replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '');
}

/// Returns the id, or that with a number behind it where it is taken.
function unused(id, taken) {
  let next = id;
  for (let n = 2; taken.has(next); ++n) next = `${id}-${n}`;
  taken.add(next);
  return next;
}

function headings(markdown) {
  markdown.core.ruler.push('headings', ({ tokens, env }) => {
    env.taken ??= new Set(['text']);
    env.headings ??= [];
    tokens.forEach((token, n) => {
      if (token.type !== 'heading_open') return;
      const title = tokens[n + 1].content;
      const id = unused(slug(title), env.taken);
      token.attrSet('id', id);
      token.meta = { id, title };
      if (token.tag === 'h2') env.headings.push({ id, html: markdown.renderInline(title) });
    });
  });
  markdown.renderer.rules.heading_close = (tokens, n) => {
    const { id, title } = tokens[n - 2].meta;
    return ` <a class="permalink" href="#${id}" aria-label="Link to “${markdown.utils.escapeHtml(title)}”">#</a></${tokens[n].tag}>\n`;
  };
}

module.exports = { headings, unused };
