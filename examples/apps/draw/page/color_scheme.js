// <color-scheme>: a choice between the light of the system, light and dark, remembered by the browser.

const name = 'color-scheme';

function apply(scheme) {
  document.documentElement.style.colorScheme = scheme === 'system' ? '' : scheme;
}

/// A browser may refuse to remember anything of pages from a disk.
function remembered() {
  try { return localStorage.getItem(name) ?? 'system'; } catch { return 'system'; }
}

function remember(scheme) {
  try { localStorage.setItem(name, scheme); } catch { /* It holds for this page only. */ }
}

customElements.define(name, class extends HTMLElement {
  connectedCallback() {
    this.innerHTML = `<label><span>Colours</span> <select>
      <option value="system">as the system</option><option value="light">light</option><option value="dark">dark</option>
    </select></label>`;
    const select = this.querySelector('select');
    select.value = remembered();
    select.addEventListener('change', () => {
      apply(select.value);
      remember(select.value);
    });
  }
});

apply(remembered());
