#!/bin/sh
# Writes a script for the head of a page. It sets the colours that the reader chose (page/color_scheme.js) before
# anything is painted, and gives the page the modules $@, which are files, by name, as in
# `import "book/cell_field.js"`. A page that was opened from a disk may not import files, so the script holds each
# module as a text, and makes a data: URL of it in an import map. Where the page shows no more than how its figures
# begin (../../book/make/old_browsers.js), modules are empty.
set -eu

# entry NAME: a row of the map whose module is read from standard input.
entry() {
  printf '  "book/%s": "%s",\n' "$1" "$(sed 's/\\/\\\\/g; s/"/\\"/g; s/</\\u003c/g; s/$/\\n/' | tr -d '\n')"
}

echo 'try { const scheme = localStorage.getItem("color-scheme");'
echo 'if (scheme === "light" || scheme === "dark") document.documentElement.style.colorScheme = scheme; } catch (error) { }'
echo '{ const imports = {'
for module in "$@"; do
  name=$(basename "$module")
  { cat "$module"; echo "//# sourceURL=book/$name"; } | entry "$name"
done
echo '};'
echo 'for (const name in imports)'
echo '  imports[name] = "data:text/javascript," + (window.shows_beginnings ? "" : encodeURIComponent(imports[name]));'
echo 'document.head.append(Object.assign(document.createElement("script"), {'
echo '  type: "importmap", textContent: JSON.stringify({ imports }) })); }'
