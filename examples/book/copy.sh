#!/bin/sh
# Copies what readers of the book download, from the folder that build.sh made to another: copy.sh BOOK FOLDER
set -eu
mkdir -p "$2"
cp -r "$1"/*.html "$1"/*.css "$1"/*.js "$1"/*.wasm "$1/fonts" "$1/notices.txt" "$2"
for more in card.png reference; do
  [ ! -e "$1/$more" ] || cp -r "$1/$more" "$2"
done
