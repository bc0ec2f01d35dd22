#!/bin/sh
# Checks what a file may include, and that each folder has its two pages. Prints each offence.
#
#     core/machine, core/io, core  <-  ops  <-  nn  <-  nn/models  <-  optim
#
# The kernels behind ops (ops/attention, ops/aft, ops/norm, ops/recurrent) are for ops alone. Programs stand on the
# library in floors of their own:
#
#     draw  <-  runs  <-  flags  <-  char_lm, seq2seq, run_layer, show_layer  <-  python
#                                                                             <-  studies  <-  book
#                                                                  char_lm    <-  variants
set -eu
cd "$(dirname "$0")/../.."
folders='core ops nn optim examples tests'
offences=0

offend() {
  echo "$1"
  offences=$((offences + 1))
}

# includes FOLDERS PATTERN: the lines of their sources that include what matches.
includes() {
  grep -rnE --include='*.h' --include='*.cpp' "^ *# *include *[<\"]$2" $1 || true
}

# forbid LINES REASON: each line is an offence.
forbid() {
  [ -z "$1" ] || offend "$2
$1"
}

# may_see FOLDER FOLDERS: of the project's own files it includes those of FOLDERS only.
may_see() {
  others=$(includes "$1" '(shiftgrad|core|ops|nn|optim|examples|tests)/' |
    grep -vE "\"($2)/" || true)
  forbid "$others" "$1 may include $2 only:"
}
may_see core 'core'
may_see ops 'core|ops'
may_see nn 'core|ops|nn'
may_see optim 'core|ops|nn|optim'
library='core|ops|nn|optim'
apps=examples/apps
may_see $apps/draw "$library|$apps/draw"
may_see $apps/runs "$library|$apps/(draw|runs)"
may_see $apps/flags "$library|$apps/(draw|runs|flags)"
for program in char_lm seq2seq run_layer show_layer; do
  may_see $apps/$program "$library|$apps/(draw|runs|flags|$program)"
done
may_see examples/python "$library|$apps"
may_see examples/studies "$library|$apps/(draw|runs|flags)|examples/studies"
may_see examples/book "$library|$apps|examples/(studies|book)"
# A path that goes up would hide where it leads.
forbid "$(includes "$folders" '\.\./')" 'a path goes up:'

# hidden_from FOLDERS PATTERN: none of their sources includes what matches.
hidden_from() {
  forbid "$(includes "$1" "$2")" "$1 may not include $2:"
}
hidden_from 'core/machine ops nn/*.h nn/*.cpp' '(core/io/json|optim)'
hidden_from 'core/*.h core/*.cpp core/machine' 'core/io/'
hidden_from 'nn/*.h nn/*.cpp' 'nn/models/'
hidden_from 'core nn optim examples' 'ops/[a-z]+/'
hidden_from 'examples/*.cpp' '(examples|tests)/'
hidden_from 'examples/variants' '(core/io|ops|nn|examples/(book|python|studies)|tests)/'
hidden_from 'examples/tasks' '(core|ops|nn|optim|examples|tests)/'
hidden_from 'core/machine core/io' 'core/(tape|accumulate|walk)\.h'
hidden_from 'core/machine ops/*/' 'core/storage\.h'

# What is in quotes lies at that path from here or from the file itself; a compiler needs no other folder.
# Only the short programs, the tasks and the variants say <shiftgrad/shiftgrad.h>, as a program outside does; it lies in .include.
missing=$(includes "$folders" '[^>]*"' | grep -v '^tests/shell/\(outside\|new_variant\)/' |
  sed -n 's/^\([^:]*\)\/[^/:]*:[0-9]*:.*"\(.*\)"$/\1 \2/p' | sort -u | while read -r folder file; do
  [ -f "$file" ] || [ -f "$folder/$file" ] || echo "$folder: $file"
done)
forbid "$missing" 'not found in the project:'
forbid "$(includes 'core ops nn optim examples/*/ tests' 'shiftgrad/' |
  grep -v '^tests/shell/\(outside\|new_variant\)/\|^examples/\(tasks\|variants\)/' || true)" \
  'headers are included by their path in the project:'

# only_in FILES LIBRARY: nowhere else is it included.
only_in() {
  others=$(includes "$folders" "$2" | grep -vE "^($1):" || true)
  forbid "$others" "$2 may be included in $1 only:"
}
only_in 'core/machine/(blas|openblas)\.cpp' '(cblas|openblas_config|f77blas)'
only_in 'core/machine/(parallel|allocator)\.cpp' '(tbb|oneapi)/'
only_in '(core/machine/(simd|vector_kernel)|ops/|examples/book/)[^:]*' 'hwy/'
only_in 'optim/peers/mpi_peers\.cpp' 'mpi\.h'
only_in 'examples/python/extension/[^:]*' 'nanobind/'
# It takes a compiler longer than all else in a source.
only_in '(examples/apps/flags/(flags|program)|examples/show_shifts|tests/fuzz/known_commands)\.cpp' 'CLI/'

for folder in $folders; do
  for page in README.md meson.build; do
    [ -f "$folder/$page" ] || offend "$folder/$page is missing"
  done
done
[ "$offences" = 0 ]
