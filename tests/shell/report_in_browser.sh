#!/bin/sh
# Reads reports of char_lm, the program $1, and of seq2seq, the program $2, in Debian's chromium, as
# pages_in_browser.sh reads the book: by keyboard alone, on a phone, in light and in dark, and while a training goes
# on. Below the folder $3 are the browser's driver and, in report/pictures, screenshots.
set -eu
char_lm=$(realpath "$1")
seq2seq=$(realpath "$2")
built=$(realpath "$3")
tests=$(cd "$(dirname "$0")/.." && pwd)
PLAYWRIGHT=$("$tests/examples/book/playwright.sh" "$built/book/browser" 2>&1) || { echo "$PLAYWRIGHT"; exit 77; }
export PLAYWRIGHT

rm -rf "$built/report"
mkdir -p "$built/report/pages"
cd "$built/report"
awk 'BEGIN { for (n = 0; n < 300; n++) print "line " n * n % 100 }' > text
for model in transformer_xl 'transformer --position rope' labml local_rnn; do
  # shellcheck disable=SC2086
  "$char_lm" train --data text --n_layer 2 --n_head 2 --n_embd 16 --block_size 8 --batch_size 4 --max_iters 20 \
    --warmup_iters 2 --eval_interval 5 --log_interval 1 --model $model --out_dir "${model%% *}" > log
done
"$char_lm" report transformer_xl transformer labml local_rnn --tokens 20 --out pages/several.html
"$char_lm" report transformer_xl --tokens 20 --out pages/one.html
# A model's file without vocabulary and metrics.
PYTHONPATH=$tests/shell PYTHONDONTWRITEBYTECODE=1 python3 -c \
  'import checkpoints; checkpoints.leave_out_vocabulary("transformer_xl/best.safetensors", "own.safetensors")'
"$char_lm" report transformer_xl own.safetensors --tokens 20 --out pages/own.html
awk 'BEGIN { for (n = 0; n < 200; n++) print n "\t" n * 7 }' > pairs
"$seq2seq" train --data pairs --n_layer 2 --n_head 2 --n_embd 16 --batch_size 8 --max_len 10 --max_iters 20 \
  --eval_interval 10 --log_interval 1 --out_dir pairs_run > log
"$seq2seq" report pairs_run --out pages/pairs.html
node "$tests/examples/book/pages.js" pages

# A training that goes on until it is stopped, and its report, which goes on with it.
mkdir followed
"$char_lm" train --data text --n_layer 1 --n_head 2 --n_embd 16 --block_size 8 --batch_size 4 --max_iters 10000000 \
  --eval_interval 1000 --log_interval 100 --out_dir followed/run > log &
training=$!
trap 'kill $training 2> /dev/null || true' EXIT
until [ -e followed/run/best.safetensors ]; do kill -0 $training; sleep 0.1; done
"$char_lm" report followed/run --follow --tokens 20 --out followed/run.html &
report=$!
until [ -e followed/run.html ]; do kill -0 $report; sleep 0.1; done
node "$tests/examples/book/followed_report.js" followed/run.html $training
wait $report
