#!/bin/sh
# Writes what every picture and every report begins with as a C++ file: embed_report.sh OUTPUT MODULE…. A script
# gives the modules to the report by name.
set -eu
output=$1
shift
here=$(cd "$(dirname "$0")" && pwd)

# A string literal may not be as long as these are, so it is joined from lines. No line has this mark.
# literal NAME: a constant of what is read from standard input.
literal() {
  printf 'const std::string_view %s =\n' "$1"
  awk '{ for (at = 1; at == 1 || at <= length($0); at += 8000) {
           is_last = (at + 8000 > length($0))
           printf("R\"end_of_part(%s%s)end_of_part\"\n", substr($0, at, 8000), is_last ? "\n" : "")
         } }'
  echo ';'
}

{
  echo '#include "examples/apps/draw/embedded.h"'
  echo 'namespace apps {'
  "$here/components.sh" "$@" | literal report_script
  awk -f "$here/plain_colors.awk" "$here/page/book.css" | literal report_style
  literal drawing_style < "$here/drawn.css"
  echo '}  // namespace apps'
} > "$output"
