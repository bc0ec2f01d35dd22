#!/bin/sh
# Makes the book below the folder $1, and reads it in Debian's chromium: all pages, with a mouse and by keyboard
# alone, on a phone, in light and in dark (tests/examples/book/pages.js).
# Skipped where chromium, node, emscripten or what makes pages is missing, and where npm cannot get playwright.
set -eu
built=$(realpath "$1")
cd "$(dirname "$0")/../.."
command -v em++ > /dev/null || { echo 'SKIPPED: em++ is not installed'; exit 77; }
export NODE_PATH=/usr/share/nodejs
node -e 'require("katex"), require("markdown-it"), require("highlight.js/lib/highlight")' 2> /dev/null ||
  { echo 'SKIPPED: katex, node-markdown-it and node-highlight.js are not installed'; exit 77; }
{ [ -d /usr/share/fonts/truetype/paratype ] && /usr/bin/python3 -c 'import fontTools, brotli'; } 2> /dev/null ||
  { echo 'SKIPPED: fonts-paratype, fonttools and python3-brotli are not installed'; exit 77; }
export BUILD="$built/book"
PLAYWRIGHT=$(tests/examples/book/playwright.sh "$BUILD/browser" 2>&1) || { echo "$PLAYWRIGHT"; exit 77; }
export PLAYWRIGHT

examples/book/build.sh
.packaging/notices.py --check "$BUILD/notices.txt" book "$BUILD" "$BUILD/wasm"
[ "$(uname -m)" != x86_64 ] || NATIVE=$(tests/examples/book/native.sh "$built")
export NATIVE
node tests/examples/book/pages.js "$BUILD"
