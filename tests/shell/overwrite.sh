#!/bin/sh
# A run, by char_lm or seq2seq, the programs $1 and $2, is replaced only where that was asked for.
seq2seq=$(realpath "$2") first_program=$(realpath "$1")
. "$(dirname "$0")/char_lm_checks.sh"

awk 'BEGIN { for (n = 0; n < 300; n++) print "line " n * n % 100 }' > text
awk 'BEGIN { for (n = 0; n < 300; n++) printf("%x\t%o\n", n * n, n * n) }' > pairs
small="--n_layer 1 --n_head 2 --n_embd 16 --batch_size 4 --warmup_iters 2 --eval_interval 2"

for program in char_lm seq2seq; do
  [ $program = seq2seq ] && char_lm=$seq2seq data=pairs || data=text
  tiny="$small --data $data"
  runs train $tiny --max_iters 6 --out_dir $program
  for file in best.safetensors last.safetensors metrics.jsonl; do
    mkdir $program-$file
    cp $program/$file $program-$file
    for start in '' "--init_from $program/best.safetensors"; do
      # shellcheck disable=SC2086
      refuses "--out_dir $program-$file: already holds a run; --overwrite replaces it, --resume continues it" \
        train $start --data $data --max_iters 2 --out_dir $program-$file
    done
  done
  # The default folder is no exception.
  runs train $tiny --max_iters 2
  refuses '--out_dir out: already holds a run' train $tiny --max_iters 2
  rm -r out
  # What is wrong beside that is said first, and --resume is no new run.
  refuses 'missing: No such file' train $(without data $tiny) --data missing --out_dir $program
  runs train --resume --max_iters 8 --out_dir $program
  refuses '--resume excludes --overwrite' train --resume --overwrite --out_dir $program

  # What is replaced is replaced wholly: no best of the run before is left.
  runs train $tiny --max_iters 0 --overwrite --out_dir $program
  [ "$(ls $program)" = "last.safetensors
metrics.jsonl" ] || fail "left of the run before: $(ls $program)"
  runs train $tiny --max_iters 2 --overwrite --out_dir $program
  cp -r $program first
  runs train $tiny --max_iters 2 --overwrite --out_dir $program
  cmp first/best.safetensors $program/best.safetensors || fail 'another run in a folder that had one'
  rm -r first
  # There may be nothing to replace.
  runs train $tiny --max_iters 2 --overwrite --out_dir new-$program
  runs train --help
  prints '--overwrite'
done
char_lm=$first_program

tiny="$small --data text --max_iters 2 --seeds 1 --length 3 --out_dir compared"
runs compare $tiny music_transformer transformer
refuses '--out_dir compared: already holds a comparison; --overwrite replaces it' \
  compare $tiny labml
runs compare $tiny labml local_rnn --overwrite
rm compared/comparison.csv
refuses '--out_dir compared/music_transformer/1337: already holds a run; --overwrite replaces it' \
  compare $tiny aft music_transformer
runs compare $tiny aft music_transformer --seed 1

[ "$failures" = 0 ]
