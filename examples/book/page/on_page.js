// Marks in the contents of the page the section that is read.

const links = new Map([...document.querySelectorAll('.on-page a')].map((link) => [link.hash.slice(1), link]));
const headings = [...links.keys()].map((id) => document.getElementById(id));

function mark() {
  const read = headings.findLast((heading) => heading.getBoundingClientRect().top < innerHeight / 3);
  for (const [id, link] of links)
    if (id === read?.id) link.setAttribute('aria-current', 'location');
    else link.removeAttribute('aria-current');
}

addEventListener('scroll', mark, { passive: true });
mark();
