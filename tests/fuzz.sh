#!/bin/sh
# Feeds the safetensors reader with whatever libFuzzer makes of the corpus, for $2 seconds or a minute.
# Builds what it runs with clang in the folder $1; skipped where there is no clang with libFuzzer.
set -eu
source=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$1"
build=$(realpath "$1")
seconds=${2-60}

empty_target='extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }'
has_fuzzer() {
  echo "$empty_target" | "$1" -fsanitize=fuzzer -x c++ - -o "$build/empty" 2> /dev/null
}
export CXX=clang++
has_fuzzer $CXX || CXX=clang++-14
has_fuzzer $CXX || { echo "SKIPPED: no clang++ with libFuzzer is installed"; exit 77; }

[ -f "$build/build.ninja" ] ||
  meson setup "$build" "$source" -Dsanitizers=fuzzer -Ddebug=true -Doptimization=1
ninja -C "$build" tests/fuzz/fuzz-safetensors
mkdir -p "$build/found"
[ ! -w /dev/shm ] || export TMPDIR=/dev/shm
"$build/tests/fuzz/fuzz-safetensors" -max_total_time="$seconds" -max_len=4096 -timeout=10 \
  -artifact_prefix="$build/" "$build/found" "$source/tests/fuzz/corpus"
