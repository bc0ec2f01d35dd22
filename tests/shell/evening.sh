#!/bin/sh
# Counts the way through the code that README.md describes under "Reading it", and the library. The way's
# stops are there, are few, and none is a kernel. A stop is a source with its header, which has the same
# name, or that without `composed_`. It reaches, by includes and the includes of these, stops before it
# and what README.md says may be trusted unread: headers, and folders, which end with a slash; no folder
# stands for a later stop. Lines of code are those that are neither blank, nor a comment, nor an include,
# nor the frame of a namespace. Their sums are printed and have no limit: a limit makes a fix a game of
# golf.
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

# trusted INCLUDE: nobody has to read it.
trusted() {
  for one in $unread; do
    case $one in
      */) case $1 in "$one"*) return 0 ;; esac ;;
      *) [ "$1" != "$one" ] || return 0 ;;
    esac
  done
  return 1
}

includes_of() {
  cat "$@" 2> /dev/null | sed -n 's/^#include "\(.*\)"$/\1/p' | sort -u
}

header_of() {
  echo "$1" | sed 's/composed_//; s/cpp$/h/'
}

listed=$(sed -n '/^## Reading it/,/^## /s/^| `\([^`]*\)` |.*/\1/p' README.md)
unread=$(sed -n '/^You may trust unread/,/^$/p' README.md | grep -o '`[^`]*/[^`]*`' | tr -d '`')
for one in $unread; do
  [ -e "$one" ] || offend "$one may be trusted unread, but is not there"
done
headers=' '
for stop in $listed; do
  headers="$headers$(header_of "$stop") "
done
way=
stops=0
used=
for stop in $listed; do
  stops=$((stops + 1))
  header=$(header_of "$stop")
  [ -e "$stop" ] || { offend "$stop is not there"; continue; }
  case $stop in
    core/machine/* | core/io/* | ops/*/* | optim/peers/*) offend "$stop is a kernel, or beside the way" ;;
  esac
  way="$way $stop"
  [ "$header" = "$stop" ] || [ ! -e "$header" ] || way="$way $header"
  next="$stop $header"
  while [ -n "$next" ]; do
    files=$next
    next=
    for from in $files; do
      for file in $(includes_of "$from"); do
        case "$way $used " in *" $file "*) continue ;; esac
        case $headers in
          *" $file "*) offend "$stop reaches $file, a later stop, through $from" ;;
          *)
            trusted "$file" ||
              offend "$stop reaches $file, which is no stop and not trusted unread, through $from"
            # What it includes is looked at once, at the first stop that reaches it.
            used="$used $file"
            next="$next $file"
            ;;
        esac
      done
    done
  done
done
for one in $unread; do
  case "$used " in *" $one"*) ;; *) offend "$one may be trusted unread, but no stop reaches it" ;; esac
done
[ "$stops" -gt 0 ] || { offend 'README.md has no way through the code'; exit 1; }
# shellcheck disable=SC2086
on_the_way=$(code $way)
# shellcheck disable=SC2046
in_the_library=$(code $(find core ops nn optim -name '*.h' -o -name '*.cpp'))
echo "the way: $stops stops of $on_the_way lines of code; the library: $in_the_library"

[ "$stops" -le "$most_stops" ] || offend "$stops stops, expected at most $most_stops"
[ "$offences" = 0 ]
