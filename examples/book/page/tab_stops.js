// What scrolls by itself stops the tab key where there is something to scroll, and nowhere else: most equations and code
// fit.

const observer = new ResizeObserver((changes) => {
  for (const { target } of changes)
    if (target.scrollWidth > target.clientWidth + 1) target.tabIndex = 0;
    else target.removeAttribute('tabindex');
});
for (const one of document.querySelectorAll('main :is(.wide:has(> .katex-display), pre)[tabindex]')) observer.observe(one);
