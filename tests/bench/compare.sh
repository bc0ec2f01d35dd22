#!/bin/sh
# Times the plain transformer's training step against PyTorch's, in turn and in one run, and prints the
# ratio of each pair. Needs a build with -Dbenchmarks=true and `pip install torch==2.13.0`.
#
#     tests/bench/compare.sh BUILD_FOLDER [PAIRS]
set -eu
build=${1:?usage: compare.sh BUILD_FOLDER [PAIRS]}
here=$(dirname "$0")
echo "transformer L4 H4 d128 T64 B12 V96, training step, median milliseconds"
for pair in $(seq "${2:-5}"); do
  ours=$("$build/tests/bench/bench" 'transformer L4 H4 d128' 20 | awk '/^transformer/ {print $(NF-4)}')
  torch=$(python3 "$here/nanogpt_step.py")
  echo "pair $pair: ours $ours, PyTorch $torch, ratio $(awk "BEGIN {printf \"%.2f\", $torch / $ours}")"
done
