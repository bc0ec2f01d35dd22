// What a reader can do with each figure: copy its address, with its controls as they are, and save it as a picture.

import { element } from 'book/elements.js';
import { address_of } from 'book/figure_address.js';
import { picture_of } from 'book/figure_picture.js';

/// Copies the address of a figure, which the page then has, too. A page may be refused the clipboard.
async function copy_link(figure) {
  history.replaceState(null, '', address_of(figure));
  try {
    await navigator.clipboard.writeText(location.href);
    return 'Copied.';
  } catch {
    return 'The address bar has it.';
  }
}

async function save(figure) {
  const address = URL.createObjectURL(await picture_of(figure));
  Object.assign(document.createElement('a'), { href: address, download: `${figure.id}.png` }).click();
  URL.revokeObjectURL(address);
  return 'Saved.';
}

function tool(figure, said, name, title, action) {
  const button = element('button', title, { type: 'button', name });
  button.addEventListener('click', async () => {
    said.textContent = await action(figure).catch((error) => error.message);
  });
  return button;
}

for (const figure of document.querySelectorAll('main figure[id]')) {
  const tools = figure.querySelector('.figure-tools') ?? element('div', '', { class: 'figure-tools' });
  const said = element('span', '', { role: 'status' });
  tools.append(tool(figure, said, 'copy-link', 'Copy link', copy_link),
               tool(figure, said, 'save-picture', 'Save as PNG', save), said);
  if (!tools.isConnected) figure.querySelector('figcaption').before(tools);
}
