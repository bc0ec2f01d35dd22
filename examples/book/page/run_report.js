// <run-report>: what a program knows of runs, side by side. A script of JSON in it holds the numbers;
// common/report.h says what they are.

import * as sections from 'book/report_sections.js';

const titles = {
  overview: 'Runs', losses: 'Loss', samples: 'Samples', attention: 'Attention', distances: 'Distances',
  context: 'Context', flags: 'Flags', parameters: 'Parameters',
};
/// What the runs need to have for a section.
const needs = { samples: 'sample', attention: 'attention', distances: 'distances', context: 'context' };

class RunReport extends HTMLElement {
  connectedCallback() {
    const script = this.querySelector('script');
    if (!script) return;
    const report = this.report = JSON.parse(script.textContent);
    const list = document.createElement('ol');
    for (const [name, title] of Object.entries(titles)) {
      if (needs[name] && !report.runs.some((run) => run[needs[name]])) continue;
      const section = sections.element('section', '', { 'aria-labelledby': name });
      section.append(sections.element('h2', title, { id: name }), ...sections[name](report));
      this.append(section);
      const item = document.createElement('li');
      item.append(sections.element('a', title, { href: `#${name}` }));
      list.append(item);
    }
    document.getElementById('sections')?.replaceChildren(list);
    script.remove();
  }
}

customElements.define('run-report', RunReport);
