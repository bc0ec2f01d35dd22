#!/bin/sh
# Builds the book into the folder build-book, or the one that BUILD names: its index.html opens from a disk.
# STUDY=FILE takes the library from there instead of compiling it, so that pages are ready in seconds.
# CHROMIUM=PROGRAM draws how figures begin, for readers without JavaScript; without a program, nothing does.
# BOOK_URL=ADDRESS says where the book will stand, for the cards that other sites make of links to it.
#
#     apt-get install emscripten nodejs katex node-markdown-it node-highlight.js \
#         fonts-paratype fonttools python3-brotli chromium esbuild
#     examples/book/build.sh
set -eu
here=$(cd "$(dirname "$0")" && pwd)
export BUILD="${BUILD:-$(dirname "$(dirname "$here")")/build-book}"
mkdir -p "$BUILD"
[ -n "${STUDY-}" ] || "$here/wasm.sh"
study=${STUDY:-$BUILD/wasm/examples/book/study.js}
NODE_PATH=${NODE_PATH-/usr/share/nodejs} node "$here/make/book.js" "$BUILD" "$study"
drawn=$here/../apps/draw
# Modules are as short as esbuild makes them, or as they are.
rm -rf "$BUILD/modules"
mkdir "$BUILD/modules"
for module in "$here"/page/*.js "$drawn"/page/*.js; do
  if command -v esbuild > /dev/null; then
    esbuild --minify --charset=utf8 --log-level=warning < "$module"
  else
    cat "$module"
  fi > "$BUILD/modules/$(basename "$module")"
done
{ cat "$here/make/old_browsers.js"; "$drawn/components.sh" "$BUILD"/modules/*.js; } > "$BUILD/components.js"
"$here/make/typefaces.py" "$BUILD/fonts"
(cd "$here/page" && cat "$drawn/page/book.css" layout.css meanings.css beats.css sentence.css models.css chorales.css "$drawn/drawn.css") |
  awk -f "$drawn/plain_colors.awk" > "$BUILD/book.css"
node "$here/make/looks.js" "$BUILD"
if browser=${CHROMIUM-$(command -v chromium)} && [ -n "$browser" ]; then
  node "$here/make/first_states.js" "$BUILD" "$browser"
else
  echo 'book: without chromium, figures are empty where there is no JavaScript' >&2
fi
"$here/../../.packaging/notices.py" book "$BUILD" "${study%/examples/book/study.js}" > "$BUILD/notices.txt"
