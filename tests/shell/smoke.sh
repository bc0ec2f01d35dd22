#!/bin/sh
# Each program of the build in the folder $1 does once what it is for: train, score and write, translate,
# compute a layer, show one. The first programs of README and the cookbook compile and run. What they do wrong, other tests say.
set -eu
built=$(realpath "$1")
project=$(cd "$(dirname "$0")/../.." && pwd)
examples=$built/examples
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

# does WHAT COMMAND...: it succeeds, and leaves what it prints in `printed`.
does() {
  what=$1
  shift
  "$@" > printed 2>&1 || { echo "cannot $what: $*"; cat printed; exit 1; }
}

# prints PATTERN: the last command printed such a line.
prints() {
  grep -Eq -- "$1" printed || { echo "no line like '$1':"; cat printed; exit 1; }
}

small='--n_layer 1 --n_head 1 --n_embd 8 --max_iters 2 --eval_iters 1'
awk 'BEGIN { for (n = 0; n < 100; n++) print "line " n * n % 100 }' > text
# shellcheck disable=SC2086
does train "$examples/apps/char_lm/char_lm" train --data text --out_dir run --block_size 8 $small
does score "$examples/apps/char_lm/char_lm" eval run
prints '^[0-9.]+ bits per character$'
does write "$examples/apps/char_lm/char_lm" generate run --length 3
does inspect "$examples/apps/char_lm/char_lm" inspect run

awk 'BEGIN { for (n = 0; n < 40; n++) print n "\t" 2 * n }' > pairs
# shellcheck disable=SC2086
does train "$examples/apps/seq2seq/seq2seq" train --data pairs --out_dir pairs_run ${small% --eval_iters 1}
echo 7 > line
does translate "$examples/apps/seq2seq/seq2seq" translate pairs_run < line

# case_of TYPE BYTES: a case of AFT-simple of one channel with zeros for all numbers.
case_of() {
  tensors=
  at=0
  for each in 'input.x 1,1,1 1' 'param.qkv.weight 3,1 3' 'param.qkv.bias 3 3' 'param.output.weight 1,1 1' \
    'param.output.bias 1 1' 'grad_output 1,1,1 1'; do
    # shellcheck disable=SC2086
    set -- "$1" "$2" $each
    tensors="$tensors,\"$3\":{\"dtype\":\"$1\",\"shape\":[$4],\"data_offsets\":[$at,$((at + $2 * $5))]}"
    at=$((at + $2 * $5))
  done
  header="{\"__metadata__\":{\"layer\":\"aft\",\"config\":\"{\\\"d_model\\\": 1, \\\"form\\\": \\\"simple\\\"}\"}$tensors}"
  length=${#header}
  # shellcheck disable=SC2059
  printf "\\$(printf %o $((length % 256)))\\$(printf %o $((length / 256)))\\0\\0\\0\\0\\0\\0%s" "$header"
  head -c "$at" /dev/zero
}
case_of F32 4 > f32.safetensors
case_of F64 8 > f64.safetensors
does 'compute a layer' "$examples/apps/run_layer/run_layer" f32.safetensors out.safetensors
grep -aq '"grad.param.qkv.weight"' out.safetensors || { echo 'run_layer gives no gradient'; exit 1; }
does 'compute a layer' "$examples/apps/run_layer/run_layer_f64" f64.safetensors out64.safetensors
grep -aq '"grad.param.qkv.weight"' out64.safetensors || { echo 'run_layer_f64 gives no gradient'; exit 1; }
does 'show a layer' "$examples/apps/show_layer/show_layer" transformer_xl_attention 2 1
prints '^transformer_xl_attention: 2 new tokens after 1 remembered$'

# README's program starts, and refuses a text that is too short; the cookbook's first one computes.
echo short > short
if "$examples/first_model" short > printed 2>&1; then echo 'first_model trains on nothing'; exit 1; fi
prints '^first_model: ParallelStreams: the text has 6 tokens, too few '
sed -n '/^#include <iostream>/,/^}$/p' "$project/examples/COOKBOOK.md" > using.cpp
# shellcheck disable=SC2086
does compile ${CXX:-c++} -std=c++20 -O0 -I"$project/.include" -I"$project" using.cpp -o using \
  "$built/libshiftgrad-f32.so" "$built/libshiftgrad-core.so" "-Wl,-rpath,$built"
does 'run a program' ./using
prints '^10$'
