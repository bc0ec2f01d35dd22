#!/bin/sh
# Builds the book into the folder build-book, or the one that BUILD names: its index.html opens from a disk.
# STUDY=FILE takes the library from there instead of compiling it, so that pages are ready in seconds.
# CHROMIUM=PROGRAM draws how figures begin, for readers without JavaScript; without a program, nothing does.
# BOOK_URL=ADDRESS says where the book will stand, for the cards that other sites make of links to it.
#
#     apt-get install emscripten nodejs katex node-markdown-it node-highlight.js \
#         fonts-paratype fonttools python3-brotli chromium
#     examples/book/build.sh
set -eu
here=$(cd "$(dirname "$0")" && pwd)
export BUILD="${BUILD:-$(dirname "$(dirname "$here")")/build-book}"
mkdir -p "$BUILD"
[ -n "${STUDY-}" ] || "$here/wasm.sh"
NODE_PATH=${NODE_PATH-/usr/share/nodejs} node "$here/make/book.js" "$BUILD" "${STUDY:-$BUILD/wasm/examples/book/study.js}"
drawn=$here/../apps/draw
"$drawn/components.sh" "$here"/page/*.js "$drawn"/page/*.js > "$BUILD/components.js"
"$here/make/typefaces.sh" "$BUILD/fonts"
(cd "$here/page" && cat "$drawn/page/book.css" layout.css meanings.css beats.css models.css chorales.css "$drawn/drawn.css") \
  > "$BUILD/book.css"
node "$here/make/looks.js" "$BUILD"
if browser=${CHROMIUM-$(command -v chromium)} && [ -n "$browser" ]; then
  node "$here/make/first_states.js" "$BUILD" "$browser"
else
  echo 'book: without chromium, figures are empty where there is no JavaScript' >&2
fi
