// <coming-from sources='{"NAME": "REGULAR EXPRESSION", …}'>: leaves of the page what is about the code or the post that
// a reader knows. A section below "Page by page" is about a source when its heading or its first paragraph names it; a
// row, a column or an entry of a list before, when its first words do. What is about none of it in a table or a list
// leaves that as it is. The address has the choice: blog_posts.html?from=labml.

import { choices } from 'book/elements.js';

const pages = document.getElementById('page-by-page');

/// The elements from a heading up to the next one as high, or to what folds.
function section(heading) {
  const parts = [heading];
  const is_next = (one) => /^(H2|H3|DETAILS)$/.test(one.tagName);
  for (let one = heading.nextElementSibling; one && !is_next(one); one = one.nextElementSibling) parts.push(one);
  return parts;
}

function sections() {
  const found = [];
  for (let next = pages.nextElementSibling; next && next.tagName !== 'H2'; next = next.nextElementSibling)
    if (next.tagName === 'H3') found.push(section(next));
  return found;
}

/// Elements in groups: those of a group are shown or hidden together, and `words` says what a group is about.
function groups_of(table) {
  const rows = [...table.tBodies[0].rows], groups = [];
  for (const row of rows) {
    const words = row.cells[0].textContent;
    if (words || !groups.length) groups.push({ words, parts: [] });  // a row without a name goes on with the one above
    groups.at(-1).parts.push(row);
  }
  return groups;
}

function columns_of(table) {
  return [...table.tHead.rows[0].cells].map(({ textContent: words }, n) =>
    ({ words, parts: [...table.rows].map(({ cells }) => cells[n]).filter(Boolean) }));
}

/// What stands before "Page by page": columns of tables where a heading names a source, else rows, and entries of lists.
function collections(names_one) {
  const before = (one) => one.compareDocumentPosition(pages) & Node.DOCUMENT_POSITION_FOLLOWING;
  const tables = [...document.querySelectorAll('main > .wide > table')].filter(before).map((table) => {
    const columns = columns_of(table);
    return columns.some(({ words }) => names_one(words)) ? columns : groups_of(table);
  });
  const lists = [...document.querySelectorAll('main > ul')].filter(before)
    .map((list) => [...list.children].map((one) => ({ words: one.textContent, parts: [one] })));
  return [...tables, ...lists];
}

customElements.define('coming-from', class extends HTMLElement {
  connectedCallback() {
    if (this.firstChild) return;
    this.sources = Object.entries(JSON.parse(this.getAttribute('sources')))
      .map(([name, words]) => [name, new RegExp(words)]);
    this.innerHTML = `<div class="controls"><label>I come from <select><option value="">anywhere</option>
      ${choices(this.sources.map(([name]) => name))}</select></label><output></output></div>`;
    const select = this.querySelector('select');
    const asked = new URLSearchParams(location.search).get('from') ?? '';
    if ([...select.options].some(({ value }) => value === asked)) select.value = asked;
    select.addEventListener('change', () => {
      this.#show();
      this.#address();
    });
    addEventListener('hashchange', () => this.#reveal());
    this.#show();
    this.#reveal();
  }

  #show() {
    const chosen = this.querySelector('select').value, [, words] = this.sources.find(([name]) => name === chosen) ?? [];
    const is_about = (text) => !words || words.test(text), is_ours = (text) => /^here\b/.test(text) || !text;
    const names_one = (text) => this.sources.some(([, words]) => words.test(text));
    const hide = (parts, is_hidden) => parts.forEach((one) => { one.hidden = is_hidden; });
    for (const collection of collections(names_one)) {
      const says_something = collection.some(({ words }) => is_about(words));
      for (const { words, parts } of collection) hide(parts, says_something && !is_about(words) && !is_ours(words));
    }
    const all = sections();
    let count = 0;
    for (const parts of all) {
      const first = parts.find(({ tagName }) => tagName === 'P');
      const is_shown = is_about(`${parts[0].textContent} ${first?.textContent}`);
      hide(parts, !is_shown);
      count += is_shown;
    }
    const said = `${count} of ${all.length} sections page by page are about it.`;
    this.querySelector('output').textContent = words ? said : '';
  }

  #address() {
    const url = new URL(location.href), { value } = this.querySelector('select');
    url.searchParams.delete('from');
    if (value) url.searchParams.set('from', value);
    try { history.replaceState(null, '', url); } catch { /* A browser may keep the address of a page from a disk. */ }
  }

  /// An address that leads to something hidden shows all.
  #reveal() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1).split('?')[0]));
    if (!target?.closest('[hidden]')) return;
    this.querySelector('select').value = '';
    this.#show();
    this.#address();
    target.scrollIntoView();
  }
});
