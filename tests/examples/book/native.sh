#!/bin/sh
# Links the program `study`, which the build folder $1 has, with one thread and products of its own in place of
# oneTBB and OpenBLAS. Prints the command that computes with vectors of the same length as WebAssembly's: all its
# numbers are the same, to the bit.
set -eu
built=$(realpath "$1")
cd "$(dirname "$0")/../../.."
mkdir -p "$built/book"
# shellcheck disable=SC2046
${CXX:-c++} -std=c++20 -O2 -I. -o "$built/book/study" \
  core/machine/one_thread.cpp core/machine/no_blas.cpp \
  $(ninja -C "$built" -t inputs examples/book/study | sed -n "s|^\(examples/book/study.p/.*[.]o\)$|$built/\1|p") \
  "$built/libshiftgrad-f32.a" "$built/libshiftgrad-core.a" $(pkg-config --libs libhwy)
echo "$built/book/study SSE4"
