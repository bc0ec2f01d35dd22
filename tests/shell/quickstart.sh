#!/bin/sh
# Runs examples/quickstart.sh with a training of some steps, on the char_lm in the build folder $1: the
# score that it prints is the one in its report.
set -eu
build=$(realpath "$1")
quickstart=$(realpath "$(dirname "$0")/../../examples/quickstart.sh")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

BUILD=$build RUN="$place/run" "$quickstart" --n_layer 1 --n_embd 16 --max_iters 10 --eval_iters 1 \
  --eval_interval 10 > "$place/printed" 2>&1 || { cat "$place/printed"; exit 1; }
score=$(sed -n 's/^\([0-9.]*\) nats per character$/\1/p' "$place/printed")
[ -n "$score" ] || { cat "$place/printed"; exit 1; }
said="which are $score nats per character, for all "
sed 's/<[^>]*>//g' "$place/run/report.html" | grep -qF "$said" || { echo "the report has not $said"; exit 1; }
grep -q '^Open it: file://.*/run/report.html$' "$place/printed"
[ -s "$place/run/sample.txt" ]
