#!/bin/sh
# Runs the programs of under 100 lines that were built in the folder $1, and checks what they print:
# numbers that are the same on every CPU exactly, losses and rounding errors by what they show.
set -eu
build=$1
examples=$(cd "$(dirname "$0")/../../examples" && pwd)
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

fail() {
  echo "$1"
  [ ! -e "$place/printed" ] || cat "$place/printed"
  exit 1
}

# run PROGRAM [ARGUMENT]...: leaves what it prints in $place/printed.
run() {
  program=$1
  shift
  "$build/$program" "$@" > "$place/printed" 2>&1
}

# refuses MESSAGE PROGRAM [ARGUMENT]...: it ends with status 1, and this as its last line.
refuses() {
  message=$1
  shift
  status=0
  run "$@" || status=$?
  [ "$status" = 1 ] || fail "$*: status $status, expected 1"
  [ "$(tail -n 1 "$place/printed")" = "$message" ] || fail "$*: expected the line '$message'"
}

# holds CONDITION AWK-PROGRAM: the awk program over what was printed ends with `good` set.
holds() {
  awk "$2"' END { exit !good }' "$place/printed" || fail "$program: expected $1"
}

# Short, and of the library the one header only.
for program in disentangled_attention first_model masked_bytes one_layer own_mixer own_model own_op transformer_xl; do
  source=$examples/$program.cpp
  lines=$(wc -l < "$source")
  [ "$lines" -lt 100 ] || fail "$source: $lines lines, expected fewer than 100"
  others=$(grep '^#include' "$source" | grep -vE '^#include <([a-z]+|shiftgrad/shiftgrad\.h)>$' || true)
  [ -z "$others" ] || fail "$source: $others"
done

# nn's page says how many lines of code each of the published mechanisms has.
for source in "$examples"/variants/*.cpp; do
  name=$(basename "$source" .cpp)
  lines=$(grep -vc '^ *//\|^$' "$source")
  case $name in main | variants) continue ;; esac
  grep -qF "[$name](../examples/variants/$name.cpp) | $lines |" "$examples/../nn/README.md" ||
    fail "nn/README.md: not $lines code lines of $name"
done

# The whole idea in one file, of the standard library alone.
lines=$(wc -l < "$examples/micro.cpp")
[ "$lines" -le 300 ] || fail "micro.cpp: $lines lines, expected at most 300"
others=$(grep '^#include' "$examples/micro.cpp" | grep -vE '^#include <[a-z]+>$' || true)
[ -z "$others" ] || fail "micro.cpp: $others"

# The page shows the first of them.
sed -n '/^```cpp$/,/^```$/p' "$examples/../README.md" | sed '1d;$d' > "$place/page"
diff "$place/page" "$examples/first_model.cpp" || fail 'README.md shows another first_model.cpp'

for n in 1 2 3 4 5 6 7 8; do printf 'This is the cat that killed the rat that ate the malt.\n'; done > "$place/rhyme"
run first_model "$place/rhyme"
holds 'less than 1 bit per token' '/ bits per token, / { good = $6 < 1 }'
holds 'a line of the rhyme' '/^This is the cat that killed the rat that ate the malt\.$/ { good = 1 }'
refuses 'first_model: /nowhere: No such file or directory' first_model /nowhere
printf 'short' > "$place/short"
refuses 'first_model: ParallelStreams: the text has 5 tokens, too few for batch_size = 4 streams of block_size + 1 = 65; lower batch_size or block_size' \
  first_model "$place/short"

run micro "$place/rhyme" 100
holds 'a loss that falls far below that of a guess' '$2 == "100:" { good = $4 < 1.5 }'
holds 'words of the rhyme' '/ (the|that|cat|rat|malt|killed) / { good = 1 }'
refuses 'micro: /nowhere: expected a file with at least 264 bytes' micro /nowhere
refuses "micro: $place/short: expected a file with at least 264 bytes" micro "$place/short"
for steps in '' ten 1e3 -1 7.5 1000000; do
  refuses "micro: steps '$steps', expected a number below 1000000" micro "$place/rhyme" "$steps"
done

run masked_bytes "$examples/../nn/README.md" 800
holds 'more blanks filled from both sides than from one' '
  / % of the blanks/ { share[++n] = $1 } { good = n == 2 && share[1] > 15 && share[2] > share[1] + 2 }'
refuses 'masked_bytes: 5 bytes, expected at least 650' masked_bytes "$place/short"
refuses 'masked_bytes: STEPS "few", expected a whole number from 4 on' masked_bytes "$examples/../nn/README.md" few

run own_op
tr -d ' \n' < "$place/printed" | grep -qF 'Tensor[1,4,1]double[[[8][4][2][1]]]' || fail 'own_op: another pulse'
holds 'the gradients of x and keep within 1e-9 of the quotients' '
  /largest error/ { good = $NF < 1e-9 }'

run own_mixer
holds 'a loss that falls, and below that without order' '
  $1 == "step" { loss[++n] = $4 }
  { good = n == 6 && loss[6] < loss[4] / 2 && loss[6] < loss[3] / 2 }'
holds 'a bias for each head and bucket, in both blocks' '
  /^blocks\.[01]\.mixer\.bias: Tensor \[2, 6\] float$/ { ++n } { good = n == 2 }'

run disentangled_attention
holds 'six losses, the last far below ln 9, which is that of a guess' '
  $1 == "step" { loss[++n] = $4 } { good = n == 6 && loss[6] < 0.4 }'

run transformer_xl
holds 'six losses, the last far below what a model without memory can reach' '
  $1 == "step" { loss[++n] = $4 } { good = n == 6 && loss[6] < 2 }'

# Killed after a save and started again, it ends with the bits of a run that was left alone.
run own_model "$place/whole.safetensors"
cp "$place/printed" "$place/whole"
holds 'a loss below a tenth' '
  $1 == "step" { loss[++n] = $4 } { good = n == 3 && loss[3] < 0.1 }'
holds 'less than 0.1 bits per token' '/bits per token, perplexity/ { good = $1 < 0.1 }'
holds 'the sentence' '/^The quick brown fox jumps over the lazy dog\. The quick brown fox/ { good = 1 }'
own_model_until_saved() {
  "$build/own_model" "$place/killed.safetensors" > "$place/printed" 2>&1 &
  while kill -0 $! && [ ! -s "$place/killed.safetensors" ]; do sleep 0.01; done
  kill -KILL $! || fail 'own_model: ended before it could be killed'
  wait $! || true
}
own_model_until_saved 2> "$place/killing"
run own_model "$place/killed.safetensors"
holds 'a run that goes on from a save' '/^goes on after step/ { good = $5 > 0 && $5 < 300 }'
cmp "$place/whole.safetensors" "$place/killed.safetensors" || fail 'own_model: other bits'
[ "$(tail -n 2 "$place/printed")" = "$(tail -n 2 "$place/whole")" ] || fail 'own_model: another text'
refuses "own_model: $place/short: not a safetensors file: is 5 bytes long, expected at least 8" own_model "$place/short"

run one_layer
holds 'pieces to equal the whole' '/largest difference/ { good = $NF < 1e-5 }'
holds 'attention of the past alone, of sum 1, and none for the padding' '
  /attention/ { inside = 1; next }
  inside {
    gsub(/[][]/, " "); ++row; total = hidden = 0
    for (key = 1; key <= NF; ++key) { total += $key; if (key == 1 || key > row) hidden += $key }
    seen = total - (row > 1); rows += NF == 6 && hidden == 0 && seen < 1e-3 && seen > -1e-3
  }
  { good = row == 6 && rows == 6 }'
