#!/bin/sh
# Counts the way through the code that README.md describes under "Reading it": its stops are there,
# are few and short, and none is a kernel. A stop is a source with its header, which has the same
# name, or that without `composed_`. Prints the lines of the way and those of the library.
set -eu
cd "$(dirname "$0")/../.."
most_stops=20
most_lines=2800
offences=0
count=0
place=$(mktemp)
trap 'rm -f "$place"' EXIT

offend() {
  echo "$1"
  offences=$((offences + 1))
}

for source in $(sed -n '/^## Reading it/,/^## /s/^| `\([^`]*\.cpp\)` |.*/\1/p' README.md); do
  count=$((count + 1))
  header=$(echo "$source" | sed 's/composed_//; s/cpp$/h/')
  case $source in examples/*) header= ;; esac
  for file in $source $header; do
    [ -f "$file" ] || { offend "$file is not there"; continue; }
    case $file in
      core/machine/* | core/io/* | ops/*/* | optim/peers/*) offend "$file is a kernel, or beside the way" ;;
    esac
    cat "$file" >> "$place"
  done
done
lines=$(wc -l < "$place")
library=$(find core ops nn optim -name '*.h' -o -name '*.cpp' | xargs cat | wc -l)
echo "the way: $count stops of $lines lines; the library: $library lines"

[ "$count" -gt 0 ] || offend 'README.md has no way through the code'
[ "$count" -le "$most_stops" ] || offend "$count stops, expected at most $most_stops"
[ "$lines" -le "$most_lines" ] || offend "$lines lines, expected at most $most_lines"
[ "$offences" = 0 ]
