// Puts the first state of each figure into the pages of the book, as a browser draws it on a phone. It shows where there
// is no JavaScript, and search engines read it. Each figure also gets its heights on a desk and on a phone, so that the
// page has room for what comes.
//
//     node first_states.js FOLDER CHROMIUM

const fs = require('node:fs');
const path = require('node:path');
const { Browser } = require('./browser.js');

const [folder, program] = process.argv.slice(2);
const at_a_time = 2;
const desk = { width: 1280, height: 900 }, phone = { width: 360, height: 740 };
const without_state = /<figure id="([^"]*)"( aria-labelledby="[^"]*")?>\s*<([a-z]+(?:-[a-z]+)+)([^>]*)><\/\3>/g;

/// In a page: waits until its figures have drawn what they begin with.
async function settled() {
  const { ask } = await import('book/library.js');
  const frame = () => new Promise(requestAnimationFrame);
  const is_busy = () => document.querySelector('main [aria-busy=true]');
  await document.fonts.ready;
  for (let before = ''; is_busy() || before !== document.body.innerHTML;) {
    before = document.body.innerHTML;
    for (let round = 0; round < 3; ++round) {
      await ask({ do: 'nothing' }).catch(() => {});
      await frame();
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/// In a page: how tall that is which each figure computes.
function heights() {
  return Object.fromEntries([...document.querySelectorAll('main figure[id]')]
    .map(({ id, firstElementChild }) => [id, Math.round(firstElementChild.offsetHeight)]));
}

/// In a page: what each figure shows, without what one would press.
function states() {
  const pressed = '.controls, button, input, select, textarea, label, [hidden], [role=alert], [aria-live], metadata';
  const kept = new Set(['class', 'style', 'href', 'open', 'colspan', 'scope', 'data-row', 'data-column']);
  const still = (figure) => {
    const made = figure.firstElementChild.cloneNode(true), canvases = figure.querySelectorAll('canvas');
    made.querySelectorAll('canvas').forEach((canvas, n) => {
      canvas.replaceWith(Object.assign(document.createElement('img'), { className: 'canvas', src: canvases[n].toDataURL(), alt: '' }));
    });
    for (const one of made.querySelectorAll(pressed)) one.remove();
    for (const one of made.querySelectorAll('*:not(svg, svg *, img)'))
      for (const { name } of [...one.attributes]) if (!kept.has(name)) one.removeAttribute(name);
    // Whatever came first, attributes stand in one order, so that the same book has the same bits.
    for (const one of [made, ...made.querySelectorAll('*')]) {
      const sorted = [...one.attributes].sort((a, b) => a.name < b.name ? -1 : 1);
      for (const each of sorted) one.removeAttributeNode(each);
      for (const each of sorted) one.setAttributeNode(each);
    }
    return made.outerHTML.replace(/\s+/g, ' ');
  };
  return Object.fromEntries([...document.querySelectorAll('main figure[id]')].map((one) => [one.id, still(one)]));
}

async function put_states(browser, name) {
  const file = path.join(folder, name), html = fs.readFileSync(file, 'utf8');
  if (!html.match(without_state)) return;
  const page = await browser.open(file, desk);
  await page.run(settled);
  const wide = await page.run(heights);
  await page.resize(phone);
  await page.run(settled);
  const narrow = await page.run(heights), shown = await page.run(states);
  await page.close();
  fs.writeFileSync(file, html.replace(without_state, (_, id, named, element, attributes) =>
    `<figure id="${id}"${named ?? ''} style="--wide: ${wide[id]}px; --narrow: ${narrow[id]}px"><${element}${attributes}></${element}>` +
    `<noscript><div class="first-state">${shown[id]}</div></noscript><div class="figure-tools"></div>`));
}

async function make() {
  const browser = new Browser(program);
  const pages = fs.readdirSync(folder).filter((name) => name.endsWith('.html'));
  const worker = async () => {
    while (pages.length) await put_states(browser, pages.shift());
  };
  try {
    await Promise.all(Array.from({ length: at_a_time }, worker));
  } finally {
    await browser.close();
  }
}

make().catch((error) => {
  console.error(`book: ${error.message}`);
  process.exit(1);
});
