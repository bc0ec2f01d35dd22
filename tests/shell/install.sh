#!/bin/sh
# Installs the build in the folder $1 into a temporary place and uses it as a stranger would: small
# programs, by pkg-config and by CMake, in both precisions, with the shared and with the static libraries. $2 is its
# option -Dportable.
set -eu
build=$1
portable=$2
tests=$(cd "$(dirname "$0")/.." && pwd)
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

meson install -C "$build" --no-rebuild --quiet --destdir "$place"
pages=$(find "$place" -name shiftgrad.pc)
export PKG_CONFIG_PATH="$(dirname "$pages")"
libraries=$(dirname "$PKG_CONFIG_PATH")

# The programs need no variable to start, also after all of it was moved.
char_lm=$(find "$place" -path '*bin/char_lm')
seq2seq=$(dirname "$char_lm")/seq2seq
unset LD_LIBRARY_PATH
for program in "$char_lm" "$seq2seq"; do
  "$program" --version | grep -Eqx '[a-z0-9_]+ [0-9.]+' || { echo "$program does not start"; exit 1; }
done
prefix=$(dirname "$(dirname "$char_lm")")
mv "$prefix" "$place/moved"
"$place/moved/bin/char_lm" --version > /dev/null || { echo 'char_lm does not start from a moved prefix'; exit 1; }
mv "$place/moved" "$prefix"
export LD_LIBRARY_PATH="$libraries"

# What the shared libraries export is shiftgrad's, and has none of these names that only private headers have, but for
# those of core that both precisions call. Types of std that have names have one identity. No function is weak but
# config_named, whose template no header has: a program makes its own.
private='simd|amx|N_[A-Z0-9]+|AttentionTile|AftCache|PanelKernel|tile_product|parse_json|shown|to_utf8'
for library in "$libraries"/libshiftgrad-*.so; do
  nm -D --defined-only "$library" | sed -n 's/^[0-9a-f]* \(.\) \(_Z.*\)/\2 \1/p' > "$place/symbols"
  grep -q '^_ZN9shiftgrad' "$place/symbols" || { echo "$library exports nothing"; exit 1; }
  if grep -vE '^_Z[A-Z0-9_n]*N[A-Z]*9shiftgrad|^_ZT[IS]N?St' "$place/symbols"; then
    echo "$library exports what belongs to others"
    exit 1
  fi
  if grep -E '^_ZT[IS](N?St.*[0-9]_[A-Z_]|Z)' "$place/symbols" ||
      grep ' W$' "$place/symbols" | grep -v '^_ZN9shiftgrad3f..12config_namedI'; then
    echo "$library exports what no header promises"
    exit 1
  fi
  grep -v '@@shiftgrad_private ' "$place/symbols" | c++filt > "$place/names"
  if grep -E "^([a-z ]* for )?shiftgrad::([a-z0-9_]+::)*($private)\\b" "$place/names"; then
    echo "$library exports what is private"
    exit 1
  fi
done
if grep '@@shiftgrad_private ' "$place/symbols"; then exit 1; fi

# compile PACKAGE [--static] SOURCE...: what the README says.
compile() {
  package=$1
  shift
  static=
  [ "$1" != --static ] || { static=$1; shift; }
  # shellcheck disable=SC2046
  ${CXX:-c++} -std=c++20 "$@" -o "$place/program" $(pkg-config $static --cflags --libs "$package")
}

# prints TEXT: the program does.
prints() {
  printed=$("$place/program") || { echo "failed: $printed"; exit 1; }
  [ "$printed" = "$1" ] || { echo "printed '$printed', expected '$1'"; exit 1; }
}

# The cookbook's first program: from its #include to the line of a lone brace.
sed -n '/^#include <iostream>/,/^}$/p' "$tests/../examples/COOKBOOK.md" > "$place/cookbook.cpp"
grep -q 'initialize();' "$place/cookbook.cpp" || { echo "the cookbook's program lacks initialize()"; exit 1; }
compile shiftgrad "$place/cookbook.cpp"
prints 10

# GCC takes what it has parsed of the header once for all programs that follow; the precisions differ.
headers=$(find "$place" -type d -path '*include/shiftgrad')
if ! ${CXX:-c++} --version | grep -q clang; then
  mkdir "$headers/shiftgrad.h.gch"
  for package in shiftgrad shiftgrad-f64; do
    # shellcheck disable=SC2046
    ${CXX:-c++} -std=c++20 $(pkg-config --cflags "$package") -x c++-header "$headers/shiftgrad.h" \
      -o "$headers/shiftgrad.h.gch/$package"
  done
fi

# The size of a Scalar, and a sum over four columns of 2; then an op, a mixer and an attention of the stranger's own.
for package in shiftgrad shiftgrad-f64; do
  compile "$package" "$tests/shell/outside/program.cpp"
  [ "$package" = shiftgrad ] && prints '4 8' || prints '8 8'
  compile "$package" "$tests/shell/outside/extension.cpp" "$tests/shell/outside/causal_convolution.cpp" \
    "$tests/shell/outside/convolution_mixer.cpp"
  prints ''
done

# The programs come with a manual page for each command, which has all its flags, and with completion.
if command -v help2man > /dev/null; then
  manual=$(find "$place" -name char_lm-train.1)
  for flag in $("$char_lm" train --help | sed -n 's/^  --\([a-z0-9_]*\).*/\1/p'); do
    sed 's/\\f[BR]//g; s/\\//g' "$manual" | grep -q -- "^--$flag" || { echo "the manual lacks --$flag"; exit 1; }
  done
  grep -q '^\.TH CHAR_LM-TRAIN "1"' "$manual" && grep -q '^char_lm-train \\- Train a model' "$manual" ||
    { echo "the title of the manual: $(head -n 5 "$manual")"; exit 1; }
  [ "$(find "$place" -name 'char_lm-*.1' -o -name 'seq2seq-*.1' | wc -l)" = 16 ]
fi
if [ -e /usr/share/bash-completion/bash_completion ]; then
  bash "$tests/shell/completes.sh" "$char_lm" "$(find "$place" -path '*completions/char_lm')"
fi

# The short programs, whose gradients need doubles. They find all that they need; shell/programs.sh runs those
# that train for longer.
examples=$tests/../examples
for package in shiftgrad shiftgrad-f64; do
  compile "$package" "$examples/first_model.cpp"
  echo short > "$place/short"
  if "$place/program" "$place/short" > "$place/printed" 2>&1; then echo 'a model of nothing'; exit 1; fi
  grep -q '^first_model: ParallelStreams: the text has 6 tokens, ' "$place/printed" || { cat "$place/printed"; exit 1; }
  compile "$package" "$examples/one_layer.cpp"
  "$place/program" > "$place/printed"
  grep -q "^The first head's attention: Tensor \[6, 6\]" "$place/printed" || { cat "$place/printed"; exit 1; }
done
for source in "$examples"/variants/*.cpp; do
  [ "$source" = "$examples/variants/main.cpp" ] || echo "#include \"$source\""
done > "$place/variants.cpp"
compile shiftgrad -I "$examples/variants" "$tests/shell/outside/variants.cpp" "$place/variants.cpp"
prints ''
for program in own_model own_mixer transformer_xl; do
  compile shiftgrad "$examples/$program.cpp"
  ldd -r "$place/program" > "$place/printed" 2>&1
  if grep -E 'not found|undefined' "$place/printed"; then exit 1; fi
done
compile shiftgrad-f64 "$examples/own_op.cpp"
"$place/program" > "$place/printed"
grep -q 'largest error' "$place/printed" || { cat "$place/printed"; exit 1; }

# by_cmake SETTING...: a project of CMake finds this version, in both precisions, and its programs start without a
# variable.
version=$(pkg-config --modversion shiftgrad)
by_cmake() (
  unset LD_LIBRARY_PATH
  rm -rf "$place/cmake"
  { cmake -S "$tests/shell/outside" -B "$place/cmake" -Dversion="$version" "$@" && cmake --build "$place/cmake"; } \
    > "$place/output" 2>&1 || { cat "$place/output"; exit 1; }
  for size in 4 8; do
    cp "$place/cmake/scalar_of_$size" "$place/program"
    prints "$size 8"
  done
)
# is_shared: the program takes what it needs from shared libraries.
is_shared() {
  ldd "$place/program" | grep -q libshiftgrad
}
if command -v cmake > /dev/null; then
  by_cmake -DCMAKE_PREFIX_PATH="$prefix"
  is_shared || { echo 'CMake does not take the shared libraries'; exit 1; }
  by_cmake -DCMAKE_PREFIX_PATH="$prefix" -Dshiftgrad_USE_STATIC_LIBS=ON
  ! is_shared || { echo 'CMake does not take the static libraries'; exit 1; }
  mv "$prefix" "$place/moved"
  by_cmake -DCMAKE_PREFIX_PATH="$place/moved"
  mv "$place/moved" "$prefix"
fi

# Parts of one program have to be of one precision: else they do not link.
for made in shiftgrad shiftgrad-f64; do
  # shellcheck disable=SC2046
  ${CXX:-c++} -std=c++20 -c "$tests/shell/outside/maker.cpp" -o "$place/maker.o" \
    $(pkg-config --cflags "$made")
  for read in shiftgrad shiftgrad-f64; do
    if [ "$read" = "$made" ]; then
      compile "$read" "$tests/shell/outside/reader.cpp" "$place/maker.o"
      prints 8
    elif compile "$read" "$tests/shell/outside/reader.cpp" "$place/maker.o" 2> "$place/errors"; then
      echo "a maker of $made was linked to a reader of $read"
      exit 1
    else
      grep -q 'undefined reference.*eight' "$place/errors" || { cat "$place/errors"; exit 1; }
    fi
  done
done

rm "$libraries"/libshiftgrad*.so*
compile shiftgrad --static "$tests/shell/outside/program.cpp"
prints '4 8'
compile shiftgrad-f64 --static "$tests/shell/outside/program.cpp"
prints '8 8'
if command -v cmake > /dev/null; then
  by_cmake -DCMAKE_PREFIX_PATH="$prefix"
fi

# Where only static libraries are built, programs link without --static.
meson setup "$place/static" "$tests/.." -Ddefault_library=static -Dportable="$portable" -Dtests=false \
  -Dmpi=disabled > "$place/output" || { cat "$place/output"; exit 1; }
rm -rf "$headers/shiftgrad.h.gch"
headers=$(dirname "$headers")
(
  PKG_CONFIG_PATH=$place/static/meson-private${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
  compile shiftgrad -I "$headers" "$tests/shell/outside/program.cpp" -L "$libraries"
)
prints '4 8'

# With folders outside the prefix, headers, pages and the packages' files agree on them.
elsewhere=$place/elsewhere
meson setup "$place/absolute" "$tests/.." -Ddefault_library=static -Dportable="$portable" -Dtests=false -Dmpi=disabled \
  -Dincludedir="$elsewhere/include" -Dmandir="$elsewhere/man" > "$place/output" || { cat "$place/output"; exit 1; }
for stage in '' "$place/stage"; do
  export DESTDIR=$stage MESON_INSTALL_PREFIX=/nowhere MESON_INSTALL_DESTDIR_PREFIX=$stage/nowhere
  "$tests/../core/public_headers.sh" "$elsewhere/include"
  [ -e "$stage$elsewhere/include/shiftgrad/shiftgrad.h" ] || { echo "no headers in $stage$elsewhere"; exit 1; }
  "$tests/../examples/apps/flags/man_pages.sh" "$elsewhere/man" "$char_lm" > /dev/null
  ! command -v help2man > /dev/null || [ -e "$stage$elsewhere/man/man1/char_lm.1" ] ||
    { echo "no manual page in $stage$elsewhere"; exit 1; }
done
unset DESTDIR MESON_INSTALL_PREFIX MESON_INSTALL_DESTDIR_PREFIX
(
  PKG_CONFIG_PATH=$place/absolute/meson-private${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
  compile shiftgrad "$tests/shell/outside/program.cpp" -L "$libraries"
)
prints '4 8'
grep -q "_shiftgrad_headers \"$elsewhere/include\"" "$place/absolute/shiftgradConfig.cmake" ||
  { echo 'CMake looks for headers elsewhere'; exit 1; }

# An older language gets one line, and none about what a header has.
echo '#include <shiftgrad/shiftgrad.h>' > "$place/old.cpp"
if ${CXX:-c++} -std=c++17 -fsyntax-only -I "$elsewhere/include" "$place/old.cpp" 2> "$place/errors"; then exit 1; fi
[ "$(grep -c 'error:' "$place/errors")" = 1 ] && grep -q 'shiftgrad needs C++20: compile with -std=c++20' "$place/errors" ||
  { cat "$place/errors"; exit 1; }

# Every installed header can be included by itself and with all others, without a warning for programs that ask for
# many. It shows none of the libraries behind it, and is found by shiftgrad/ alone: a program may have a core/ or nn/ of
# its own.
folder=$headers/shiftgrad
[ "$(ls "$headers")" = shiftgrad ]
parsers=
for compiler in "${CXX:-c++}" g++ clang++; do
  command -v ${compiler%% *} > /dev/null || continue
  parser=$($compiler -print-prog-name=cc1plus)  # that of g++ is mostly c++'s, too
  case " $parsers " in *" $parser "*) continue ;; esac
  parsers="$parsers $parser"
  for precision in '' -DSHIFTGRAD_DOUBLE; do
    (cd "$folder" && find . -name '*.h' -printf '#include "shiftgrad/%P"\n') |
      $compiler -std=c++20 $precision -I "$headers" -Wall -Wextra -Wpedantic -Wshadow -Wconversion \
        -Wsign-conversion -Werror -fsyntax-only -x c++ -
  done
done
if grep -rnE 'include *(<(cblas|tbb|oneapi|hwy|nlohmann)|"(core|ops|nn|optim)/)' "$folder"; then exit 1; fi
mkdir "$place/core"
echo '#error a header of this program was taken for one of shiftgrad' > "$place/core/tensor.h"
printf '#include <shiftgrad/shiftgrad.h>\nint main() {}\n' > "$place/host.cpp"
compile shiftgrad -I "$place" "$place/host.cpp"
