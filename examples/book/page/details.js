// Opens the folded section (make/folds.js) that an address leads to, and all of them for paper, with folded code.

const closed = () => [...document.querySelectorAll('details:is(.fold, .code-fold):not([open])')];

function open_at(hash) {
  const target = document.getElementById(decodeURIComponent(hash.slice(1).split('?')[0]));
  const fold = target?.closest('details.fold:not([open])');
  if (!fold) return;
  fold.open = true;
  target.scrollIntoView();
}

addEventListener('hashchange', () => open_at(location.hash));
document.addEventListener('click', ({ target }) => open_at(target.closest?.('a[href^="#"]')?.hash ?? ''));
open_at(location.hash);

let opened = [];
addEventListener('beforeprint', () => {
  opened = closed();
  for (const fold of opened) fold.open = true;
});
addEventListener('afterprint', () => { for (const fold of opened) fold.open = false; });
