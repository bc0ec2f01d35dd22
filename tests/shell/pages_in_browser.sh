#!/bin/sh
# Makes the book below the folder $1, and reads it in Debian's chromium: all pages, with a mouse and by keyboard
# alone, on a phone, in light and in dark (tests/examples/book/pages.js). Screenshots are in book/pictures there.
# Skipped where chromium, node, emscripten or what makes pages is missing, and where npm cannot get playwright.
set -eu
built=$(realpath "$1")
cd "$(dirname "$0")/../.."
for program in em++ node npm chromium; do
  command -v $program > /dev/null || { echo "SKIPPED: $program is not installed"; exit 77; }
done
export NODE_PATH=/usr/share/nodejs
node -e 'require("katex"), require("markdown-it")' 2> /dev/null ||
  { echo 'SKIPPED: katex and node-markdown-it are not installed'; exit 77; }

export BUILD="$built/book"
mkdir -p "$BUILD/browser"
cp tests/examples/book/package.json tests/examples/book/package-lock.json "$BUILD/browser"
[ -d "$BUILD/browser/node_modules/playwright-core" ] ||
  npm ci --prefix "$BUILD/browser" --ignore-scripts > "$BUILD/browser/npm.log" 2>&1 ||
  { echo 'SKIPPED: npm cannot get playwright-core'; exit 77; }

examples/book/build.sh
[ "$(uname -m)" != x86_64 ] || NATIVE=$(tests/examples/book/native.sh "$built")
export NATIVE
PLAYWRIGHT="$BUILD/browser/node_modules/playwright-core" node tests/examples/book/pages.js "$BUILD" "$BUILD/pictures"
