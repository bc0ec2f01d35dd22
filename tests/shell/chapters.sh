#!/bin/sh
# Checks the text of the book, without building it: quotes of our sources, exercises and links.
set -eu
command -v node > /dev/null || { echo 'SKIPPED: node is not installed'; exit 77; }
exec node "$(dirname "$0")/../examples/book/chapters.js"
