// Sections that fold: what was measured, and the traps. Who reads the idea first passes them; a heading's address opens
// its section (page/details.js), and on paper all are open.

const folded = ['Measured', 'Traps', 'The traps'];

function folds(markdown) {
  markdown.core.ruler.after('headings', 'folds', (state) => {
    const html = (content) => Object.assign(new state.Token('html_block', '', 0), { content });
    let open;  // the tag of the heading whose section is open
    const end = () => open ? (open = undefined, [html('</details>\n')]) : [];
    const made = state.tokens.flatMap((token, n, all) => {
      if (token.type === 'heading_open') {
        const before = open && token.tag <= open ? end() : [];
        if (!folded.includes(all[n + 1].content)) return [...before, token];
        open = token.tag;
        return [...before, html('<details class="fold"><summary>'), token];
      }
      const is_end = token.type === 'heading_close' && folded.includes(all[n - 1].content);
      return is_end ? [token, html('</summary>\n')] : [token];
    });
    state.tokens = [...made, ...end()];
  });
}

module.exports = { folds };
