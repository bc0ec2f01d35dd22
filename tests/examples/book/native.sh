#!/bin/sh
# Compiles the program `study` for this machine, with one thread and products of its own, below the build
# folder $1. Prints the command that computes with vectors of the same length as WebAssembly's: all its numbers
# are the same, to the bit.
set -eu
built=$(realpath "$1")
cd "$(dirname "$0")/../../.."
mkdir -p "$built/book"
# shellcheck disable=SC2046
${CXX:-c++} -std=c++20 -O2 -I"$built/include" -I. -o "$built/book/study" \
  core/machine/one_thread.cpp core/machine/no_openblas.cpp core/machine/vector_product.cpp \
  examples/book/lines.cpp examples/book/request.cpp examples/book/score_terms.cpp examples/book/study.cpp \
  examples/book/training.cpp examples/book/views.cpp \
  examples/show_layer/*_tables.cpp examples/show_layer/layer_case.cpp examples/show_layer/worked_example.cpp \
  examples/run_layer/case.cpp examples/run_layer/run_layer.cpp \
  examples/wrong_on_purpose/mistakes.cpp examples/wrong_on_purpose/score.cpp \
  examples/char_lm/attention_maps.cpp examples/char_lm/distance_tables.cpp examples/char_lm/vocabulary.cpp \
  examples/common/near_name.cpp examples/common/printable.cpp examples/common/utf8.cpp \
  "$built/libshiftgrad-f32.a" "$built/libshiftgrad-core.a" $(pkg-config --libs libhwy)
echo "$built/book/study SSE4"
