#!/bin/sh
# Builds the book into the folder build-book, or the one that BUILD names: its index.html opens from a disk.
# STUDY=FILE takes the library from there instead of compiling it, so that pages are ready in seconds.
#
#     apt-get install emscripten nodejs katex node-markdown-it node-highlight.js \
#         fonts-paratype fonttools python3-brotli
#     examples/book/build.sh
set -eu
here=$(cd "$(dirname "$0")" && pwd)
export BUILD="${BUILD:-$(dirname "$(dirname "$here")")/build-book}"
mkdir -p "$BUILD"
[ -n "${STUDY-}" ] || "$here/wasm.sh"
NODE_PATH=${NODE_PATH-/usr/share/nodejs} node "$here/make/book.js" "$BUILD" "${STUDY:-$BUILD/wasm/examples/book/study.js}"
"$here/make/components.sh" > "$BUILD/components.js"
"$here/make/typefaces.sh" "$BUILD/fonts"
cat "$here/page/book.css" "$here/page/layout.css" "$here/page/meanings.css" "$here/page/models.css" "$here/page/chorales.css" "$here/../common/drawn.css" > "$BUILD/book.css"
