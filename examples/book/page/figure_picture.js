// A figure as a picture: what it shows, without its controls, and its caption. The page draws it from the figure's own
// HTML, which it puts into an SVG with the book's styles (make/looks.js), and asks nobody for anything.

import { element } from 'book/elements.js';
import { from_script } from 'book/library.js';

const scale = 2;  // pixels of the picture for one of the page
// What a reader would press. An SVG has no scripts, so it would draw what stands there for a page without them.
export const left_out = 'noscript, .in-words, .controls, .figure-tools, label, textarea, button:not(map-choice *), [hidden], output:empty';
const own_looks = 'body { display: block; max-width: none; margin: 0; padding: 0; } ' +
  'main > figure#picture { margin: 0; max-width: none; border-radius: 0; } ' +
  'main > figure#picture > * { min-height: 0; } ' +  // room for what comes is none for what is there
  'a[href]:not(svg *) { text-decoration: underline; } ' +  // an SVG that is a picture has no links
  '* { scrollbar-width: none; } ' +  // nobody can scroll it
  '*, ::before, ::after { animation: none !important; transition: none !important; } ' +  // where all has come to its place
  '.book :is(.wide, table) { overflow: visible; background: none; }';

/// The colours that the page has now.
function scheme() {
  const chosen = getComputedStyle(document.documentElement).colorScheme;
  return chosen.includes(' ') ? matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light' : chosen;
}

/// A copy of a figure, as it stands. What a canvas shows is no part of its HTML.
function copy(figure) {
  const made = document.implementation.createHTMLDocument('').importNode(figure, true);
  const canvases = figure.querySelectorAll('canvas');
  made.querySelectorAll('canvas').forEach((canvas, n) => {
    canvas.replaceWith(element('img', '', { src: canvases[n].toDataURL(), class: 'canvas' }));
  });
  for (const one of made.querySelectorAll(left_out)) one.remove();
  made.id = 'picture';
  return made;
}

/// Calls `action` with a page of its own, as wide as the figure, that has nothing but a copy of it. The figure's
/// elements are unknown there, and do nothing.
async function in_a_frame(figure, action) {
  const looks = await from_script('looks.js', 'shiftgrad_looks');
  const frame = document.createElement('iframe');
  frame.style.cssText = 'position: absolute; left: -9999px; border: 0; visibility: hidden';
  frame.width = figure.offsetWidth;
  frame.srcdoc = '<!DOCTYPE html><html><body class="book"><style></style><main></main></body></html>';
  const loaded = new Promise((resolve) => frame.addEventListener('load', resolve, { once: true }));
  document.body.append(frame);
  try {
    await loaded;
    const page = frame.contentDocument;
    page.documentElement.style.colorScheme = scheme();
    page.querySelector('style').textContent = looks + own_looks;
    page.querySelector('main').append(page.adoptNode(copy(figure)));
    await page.fonts.ready;
    return await action(page);
  } finally {
    frame.remove();
  }
}

/// A figure as a PNG.
export function picture_of(figure) {
  return in_a_frame(figure, async (page) => {
    const { offsetHeight: height } = page.getElementById('picture'), width = page.documentElement.scrollWidth;
    const html = new XMLSerializer().serializeToString(page.body);
    const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" ` +
      `style="color-scheme: ${scheme()}">` +
      `<foreignObject width="${width}" height="${height}">${html}</foreignObject></svg>`;
    const image = Object.assign(new Image(), { src: `data:image/svg+xml,${encodeURIComponent(svg)}` });
    await image.decode();
    const canvas = Object.assign(document.createElement('canvas'), { width: width * scale, height: height * scale });
    const context = canvas.getContext('2d');
    context.fillStyle = getComputedStyle(document.body).backgroundColor;
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.drawImage(image, 0, 0, canvas.width, canvas.height);
    return new Promise((resolve) => { canvas.toBlob(resolve, 'image/png'); });
  });
}
