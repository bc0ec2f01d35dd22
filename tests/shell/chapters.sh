#!/bin/sh
# Checks the text of the book, without building it: quotes of our sources, exercises and links, and the card that
# other sites show of a page.
set -eu
command -v node > /dev/null || { echo 'SKIPPED: node is not installed'; exit 77; }
book=$(dirname "$0")/../examples/book
node "$book/chapters.js"
exec node "$book/social_card.js"
