#!/bin/sh
# Writes the project's source text as a C++ file: embed_source.sh ROOT OUTPUT DEPFILE.
# The depfile lists what was read, so that an edited file is embedded anew.
set -eu
root=$1 output=$2 depfile=$3

files=$(cd "$root" && find core ops nn optim examples tests -name '*.h' -o -name '*.cpp' |
  LC_ALL=C sort)

# A raw string literal ends at this mark only; spelled in two parts, for this file is embedded too.
mark=end_of
mark=${mark}_file

{
  echo '#include "examples/apps/runs/embedded_files.h"'
  echo 'namespace apps {'
  echo 'using namespace std::string_view_literals;'
  echo 'static constexpr std::string_view files[] = {'
  for file in $files; do
    printf 'R"%s(' "$mark"
    cat "$root/$file"
    printf ')%s"sv,\n' "$mark"
  done
  echo '};'
  echo 'const std::span<const std::string_view> embedded_files = files;'
  echo '}  // namespace apps'
} > "$output"

{
  printf '%s:' "$(basename "$output")"
  for file in $files; do printf ' %s' "$root/$file"; done
  echo
} > "$depfile"
