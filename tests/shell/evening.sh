#!/bin/sh
# Counts the way through the code that README.md describes under "Reading it", and the library. The way's
# stops are there, are few, and none is a kernel. A stop is a source with its header, which has the same
# name, or that without `composed_`. Lines of code are those that are neither blank, nor a comment, nor an
# include, nor the frame of a namespace. Their sums are printed and have no limit: a limit makes a fix a
# game of golf.
set -eu
cd "$(dirname "$0")/../.."
most_stops=30
offences=0

offend() {
  echo "$1"
  offences=$((offences + 1))
}

# code FILE...: the number of lines of code.
code() {
  awk '!/^ *($|\/\/|# *(include|pragma once))/ && !/^ *(inline )?namespace.*\{$/ && !/^ *\} *\/\/ namespace/ { n++ }
    END { print n + 0 }' "$@"
}

way=
stops=0
for stop in $(sed -n '/^## Reading it/,/^## /s/^| `\([^`]*\)` |.*/\1/p' README.md); do
  stops=$((stops + 1))
  header=$(echo "$stop" | sed 's/composed_//; s/cpp$/h/')
  [ -e "$stop" ] || { offend "$stop is not there"; continue; }
  case $stop in
    core/machine/* | core/io/* | ops/*/* | optim/peers/*) offend "$stop is a kernel, or beside the way" ;;
  esac
  way="$way $stop"
  [ "$header" = "$stop" ] || [ ! -e "$header" ] || way="$way $header"
done
[ "$stops" -gt 0 ] || { offend 'README.md has no way through the code'; exit 1; }
# shellcheck disable=SC2086
on_the_way=$(code $way)
# shellcheck disable=SC2046
in_the_library=$(code $(find core ops nn optim -name '*.h' -o -name '*.cpp'))
echo "the way: $stops stops of $on_the_way lines of code; the library: $in_the_library"

[ "$stops" -le "$most_stops" ] || offend "$stops stops, expected at most $most_stops"
[ "$offences" = 0 ]
