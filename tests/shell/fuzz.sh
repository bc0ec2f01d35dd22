#!/bin/sh
# Feeds what reads files and words with whatever libFuzzer makes of its seeds, for $2 seconds each, 20 without
# it: the safetensors reader, then what the programs make of checkpoints, texts, files of flags, trainings that go
# on, metrics and command lines. Builds that with clang in the folder $1, where what was found lies, too; skipped
# where there is no clang with libFuzzer. $3 is one of the targets.
set -eu
source=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$1"
build=$(realpath "$1")
seconds=${2-20}
targets=${3-safetensors checkpoint text config resume metrics commands}

empty_target='extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }'
has_fuzzer() {
  echo "$empty_target" | "$1" -fsanitize=fuzzer -x c++ - -o "$build/empty" 2> /dev/null
}
export CXX=clang++
has_fuzzer $CXX || CXX=clang++-14
has_fuzzer $CXX || { echo "SKIPPED: no clang++ with libFuzzer is installed"; exit 77; }

[ -f "$build/build.ninja" ] ||
  meson setup "$build" "$source" -Dsanitizers=fuzzer -Ddebug=true -Doptimization=1
[ ! -w /dev/shm ] || export TMPDIR=/dev/shm
# Whole stacks of all that is allocated cost a quarter of the time.
export ASAN_OPTIONS="malloc_context_size=2:${ASAN_OPTIONS-}"

# fuzz TARGET LONGEST FOLDER...: inputs of LONGEST bytes at most, which begin with those in the folders.
fuzz() {
  target=$1 longest=$2
  shift 2
  case " $targets " in *" $target "*) ;; *) return 0 ;; esac
  ninja -C "$build" "tests/fuzz/fuzz-$target"
  mkdir -p "$build/found/$target"
  # What a small file makes a program take is small.
  "$build/tests/fuzz/fuzz-$target" -max_total_time="$seconds" -max_len="$longest" -timeout=600 \
    -malloc_limit_mb=256 -rss_limit_mb=1024 -artifact_prefix="$build/" "$build/found/$target" "$@"
}
mkdir -p "$build/refused"
python3 "$source/tests/fuzz/refused.py" "$build/refused"
fuzz safetensors 4096 "$source/tests/fuzz/corpus" "$build/refused"
fuzz checkpoint 20000
fuzz text 1000
fuzz config 4000
fuzz resume 40000
fuzz metrics 4000
fuzz commands 1000
