#!/bin/sh
# Goes on with a run of each kind of model that version 0.1.0 saved after 20 of 30 steps, by char_lm, the
# program $1, and seq2seq, the program $2: its end has to be the one that this version came to.
set -u
data=$(realpath "$(dirname "$0")/../support/data")
seq2seq=$(realpath "$2")
. "$(dirname "$0")/char_lm_checks.sh"

# goes_on PROGRAM RUN LOSS TEXTS: resumed, it ends at this validation loss, up to rounding.
goes_on() {
  cp -r "$data/runs/$2" "$2"
  "$1" train --resume --out_dir "$2" --data "$4" --max_iters 30 > output 2> errors ||
    fail "status $? of $2: $(cat errors)"
  sed -n 's/.*"validation_loss":\([0-9.]*\).*/\1/p' "$2/metrics.jsonl" | tail -n 1 > loss
  awk -v expected="$3" '{ difference = $1 - expected } END { exit !(NR == 1 && difference^2 < 1e-8) }' loss ||
    fail "$2 ends at $(cat loss), expected $3"
}

while read -r program run loss; do
  case $program in
    char_lm) goes_on "$char_lm" "$run" "$loss" "$data/old_run/sentences.txt" ;;
    seq2seq) goes_on "$seq2seq" "$run" "$loss" "$data/runs/pairs.tsv" ;;
  esac
done < "$data/runs/losses"
[ "$(ls -d "$data"/runs/*/ | wc -l)" = "$(wc -l < "$data/runs/losses")" ] || fail 'a run without a loss'

[ "$failures" = 0 ]
