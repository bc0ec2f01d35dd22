#!/bin/sh
# Builds the library for browsers below the folder $1, and runs it in node: the tests of what knows no
# Scalar, and what pages call. The answers to pages are those of a portable build for this machine, to the
# bit, if that computes with vectors of the same length. Skipped where emscripten or node is not installed.
set -eu
built=$(realpath "$1")
cd "$(dirname "$0")/../.."
for program in em++ node; do
  command -v $program > /dev/null || { echo "SKIPPED: $program is not installed"; exit 77; }
done
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

export BUILD="$built/book"
examples/book/wasm.sh tests/tests-core.js examples/book/study.js

# Cases that need what node does not give a program.
threads='release: what one thread*,release: also when*,allocate: threads do not*'
pipes='read_file: every byte*,read_regular_file: nothing*,lines: next waits*,lines: a byte order*'
node "$BUILD/wasm/tests/tests-core.js" --test-case-exclude="$threads,$pipes"

# The answers to the book's exercises.
node tests/examples/book/answers.js node examples/book/lines.js "$BUILD/wasm/examples/book/study.js"

# On other machines than x86 no vectors multiply and add as those of WebAssembly do.
[ "$(uname -m)" = x86_64 ] || { echo 'the answers are not compared'; exit 0; }
# shellcheck disable=SC2046
${CXX:-c++} -std=c++20 -O2 -I"$built/include" -I. -o "$place/study" \
  core/machine/one_thread.cpp core/machine/no_openblas.cpp core/machine/vector_product.cpp \
  examples/book/lines.cpp examples/book/study.cpp examples/book/request.cpp examples/book/views.cpp \
  examples/run_layer/case.cpp examples/run_layer/run_layer.cpp \
  examples/show_layer/*_tables.cpp examples/show_layer/layer_case.cpp examples/show_layer/worked_example.cpp \
  examples/char_lm/attention_maps.cpp examples/char_lm/vocabulary.cpp examples/common/near_name.cpp \
  examples/common/printable.cpp examples/common/utf8.cpp \
  "$built/libshiftgrad-f32.a" "$built/libshiftgrad-core.a" $(pkg-config --libs libhwy)
python3 tests/examples/book/compare.py "$BUILD/wasm/examples/book/study.js" "$place/study" SSE4
node tests/examples/book/answers.js "$place/study" SSE4
