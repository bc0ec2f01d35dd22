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
export BUILD="$built/book"
examples/book/wasm.sh tests/tests-core.js examples/book/study.js

# Cases that need what node does not give a program.
threads='release: what one thread*,release: also when*,allocate: threads do not*'
pipes='read_file: every byte*,read_regular_file: nothing*,lines: next waits*,lines: a byte order*'
# There, fstat of an open file tells of what has its name by now.
replaced='safetensors: an open file is read*'
node "$BUILD/wasm/tests/tests-core.js" --test-case-exclude="$threads,$pipes,$replaced"

# The answers to the book's exercises, and the numbers of the page that needs no library to be read.
node tests/examples/book/answers.js node examples/book/lines.js "$BUILD/wasm/examples/book/study.js"
node tests/examples/book/beats.js node examples/book/lines.js "$BUILD/wasm/examples/book/study.js"

# On other machines than x86 no vectors multiply and add as those of WebAssembly do.
[ "$(uname -m)" = x86_64 ] || { echo 'the answers are not compared'; exit 0; }
native=$(tests/examples/book/native.sh "$built")
# shellcheck disable=SC2086
python3 tests/examples/book/compare.py "$BUILD/wasm/examples/book/study.js" $native
# shellcheck disable=SC2086
node tests/examples/book/answers.js $native
