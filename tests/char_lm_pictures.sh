#!/bin/sh
# Looks into runs of char_lm, the program $1, as people do, and as they should not.
. "$(dirname "$0")/char_lm_checks.sh"

# shows FILE TEXT...: the picture is whole, and each of the texts is all that one of its labels says.
shows() {
  picture=$1
  shift
  tail -n 2 "$picture" | grep -qx '</svg>' || fail "not a whole picture: $picture"
  for text in "$@"; do
    grep -qF -- "<text>$text</text>" "$picture" ||
      grep -qF -- "<text><tspan font-family=\"DejaVu Sans,Arial,sans-serif\" >$text</tspan></text>" "$picture" ||
      fail "no '$text' in $picture: $(grep '<text>' "$picture")"
  done
}

# refuses TEXT ARGUMENT...: status 2, nothing on standard output, one line on standard error that
# contains the text, and no file more or less.
refuses() {
  before=$(find . -type f ! -name output ! -name errors | sort)
  is_refused "$@"
  [ ! -s output ] || fail "output of: $*: $(cat output)"
  [ "$(find . -type f ! -name output ! -name errors | sort)" = "$before" ] || fail "files of: $*"
}

awk 'BEGIN { for (n = 0; n < 300; n++) print "line " n * n % 100 " <&>`\"\\%'"'"'" }' > text
# trained FOLDER FLAG...: a run of a tiny model.
trained() {
  folder=$1
  shift
  runs train --data text --n_layer 2 --n_head 2 --n_embd 16 --block_size 8 --batch_size 4 \
    --max_iters 4 --warmup_iters 2 --eval_interval 2 --log_interval 1 --out_dir "$folder" "$@"
}
trained xl
trained 'a `date` "run'
trained deep/xl --position learned
trained rope --model transformer --position rope
trained vanilla --model transformer

# --- inspect

runs inspect xl
prints '^xl/best.safetensors$'
prints '^step +[24]$'
prints '^validation loss +[0-9.]+ nats = [0-9.]+ bits per character$'
prints '^parameter +shape +count +mean +deviation +norm$'
prints '^blocks\.1\.mixer\.qkv\.weight +\[48, 16\] +768 +-?[0-9.e-]+ +[0-9.]+ +[0-9.]+$'
prints '^final_norm\.weight +\[16\] +16 +[0-9.]+ +[0-9.e-]+ +[34][0-9.]*$'
prints '^  mixer\.type +transformer_xl_attention$'
prints '^  max_iters +4$'
counted=$(awk '/^total/ { exit } NR > 7 { sub(/.*\]/, ""); sum += $1 } END { print sum }' output)
prints "^total +[0-9]+ tensors +$counted "
runs inspect xl --checkpoint last
prints '^step +4$'

refuses 'missing/best.safetensors: no such file' inspect missing
refuses 'text/best.safetensors: ' inspect text
refuses '--checkpoint first, expected best or last' inspect xl --checkpoint first
refuses 'OUT_DIR' inspect
refuses '--out' inspect xl --out any

# --- What is drawn.

for command in plot; do
  PATH=$place/nowhere "$char_lm" $command xl > output 2> errors
  [ $? = 2 ] || fail "status of $command without gnuplot"
  grep -qx 'char_lm: gnuplot: not installed, expected it to draw .*\.svg' errors ||
    fail "$command without gnuplot: $(cat errors)"
  [ "$(wc -l < errors)" = 1 ] || fail "$command without gnuplot: $(cat errors)"
done
if ! command -v gnuplot > /dev/null; then
  [ "$failures" = 0 ]
  exit
fi

# --- plot

runs plot xl 'a `date` "run' deep/xl
shows loss.svg xl deep/xl 'a `date` "run' step 'nats per character' 'bits per character'
runs plot xl/ deep/xl/../../rope --out "it's one.svg"
shows "it's one.svg" xl rope 'pale: each batch' 'on top: validation'
mkdir young
head -n 1 xl/metrics.jsonl > young/metrics.jsonl
printf '{"step":2,"lo' >> young/metrics.jsonl
runs plot young --out young.svg
shows young.svg young

mkdir broken
refuses 'missing/metrics.jsonl: No such file' plot missing xl
refuses 'broken/metrics.jsonl: No such file' plot xl broken
echo '{"step":1,"loss":' > broken/metrics.jsonl
refuses 'broken/metrics.jsonl: line 1: ' plot broken
echo '{"step":1,"loss":"much"}' > broken/metrics.jsonl
refuses 'broken/metrics.jsonl: line 1: loss "much", expected a number' plot broken
echo '{"step":1,"loss":null}' > broken/metrics.jsonl
refuses 'broken/metrics.jsonl: no finite loss in it' plot broken
refuses '--out xl: expected the name of a file' plot xl --out xl
refuses '--out no/loss.svg: there is no folder' plot xl --out no/loss.svg
refuses 'RUN' plot

[ "$failures" = 0 ]
