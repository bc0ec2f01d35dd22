#!/bin/sh
# Stops trainings by char_lm, the program $1, and seq2seq, the program $2, where something long is under way, and takes
# their readers away: what was trained is saved, and goes on with the bits of a run that was left alone.
seq2seq=$(realpath "$2")
. "$(dirname "$0")/char_lm_checks.sh"

awk 'BEGIN { for (n = 0; n < 200000; n++) print "line " n * n % 1000 }' > text
awk 'BEGIN { for (n = 0; n < 20000; n++) printf("%x\t%o\n", n * n, n * n) }' > pairs
small='--n_layer 2 --n_head 2 --n_embd 32 --batch_size 8 --dropout 0.1 --warmup_iters 2 --log_interval 1
  --max_iters 4 --eval_interval 2'
tiny="$small --data text --block_size 32"
# An evaluation of a second or two, and one of more CPU time than a run gets here.
short="$tiny --model transformer_xl --mem_len 40 --eval_split 0.1 --eval_iters 0"
endless="$(without n_embd $tiny) --n_embd 192 --eval_split 0.5 --eval_iters 0"
pairs="$small --data pairs --eval_pairs 8000"

# begins PROGRAM FOLDER ARGUMENT...: `train`, or another command in $command, in a folder of its own, as $process.
command=train
begins() {
  program=$1 run=$2
  shift 2
  rm -rf "$run"
  (ulimit -t 120 && exec env --default-signal=INT,TERM,HUP,USR1,XCPU "$program" $command "$@" --out_dir "$run") \
    > output 2> errors &
  process=$!
}

# has_step STEP [FOLDER]: the step is made. An evaluation that is due begins.
has_step() {
  grep -q "\"step\":$1,\"loss\"" "${2:-$run}/metrics.jsonl"
}

# ends_with STATUS: so ends $process, without a word on standard error.
ends_with() {
  status=0
  wait $process 2> /dev/null || status=$?
  [ "$status" = "$1" ] || fail "status $status of $run, expected $1: $(cat output errors)"
  [ ! -s errors ] || fail "errors of $run: $(cat errors)"
}

# is_left FOLDER: it was stopped in an evaluation.
is_left() {
  grep -q trainer.evaluation_due "$1/last.safetensors"
}

# is_whole NAME: the run in `run` left the same as that one did in this place, but for speeds. It is then removed.
is_whole() {
  for one in run "whole_$1"; do sed 's/,"tokens_per_second[^}]*//' "$one/metrics.jsonl" > "$one.metrics"; done
  cmp run.metrics "whole_$1.metrics" || fail "the metrics of $1"
  for part in best last; do
    cmp "run/$part.safetensors" "whole_$1/$part.safetensors" || fail "the $part of $1"
  done
  [ "$(ls -A run)" = "$(ls -A "whole_$1")" ] || fail "files of $1: $(ls -A run)"
  rm -r run
}

# --- In an evaluation: of the steps before the last, and of the last.

while read -r name program flags; do
  [ "$program" = seq2seq ] && program=$seq2seq flags=$pairs
  [ "$program" = char_lm ] && program=$char_lm flags=$short
  "$program" train $flags --out_dir run > output 2>&1 || fail "$name: $(cat output)"
  mv run "whole_$name"
  for step in 2 4; do
    # A machine that is busy with others may let the evaluation end before it gets the signal.
    for _ in 1 2 3 4 5 6 7 8 9; do
      begins "$program" run $flags
      awaits $process has_step $step || fail "no step $step of $name: $(cat errors)"
      kill -TERM $process
      wait $process 2> /dev/null
      ! is_left run || break
    done
    is_left run || fail "$name was never stopped in the evaluation after step $step"
    prints "^stopped after step $step; train --resume --out_dir run continues"
    grep -q "\"step\":$step,\"train_loss\"" run/metrics.jsonl && fail "$name has scores of $step"
    "$program" train --resume --out_dir run > output 2>&1 || fail "$name goes on: $(cat output)"
    prints "^continues after step $step of 4"
    is_whole "$name"
  done
done << 'END'
text char_lm
pairs seq2seq
END

# Every signal is seen long before the evaluation ends.
for signal in INT/130 TERM/143 HUP/129 USR1/138 XCPU/152; do
  begins "$char_lm" stopped $endless
  awaits $process has_step 2 || fail "no step 2: $(cat errors)"
  kill "-${signal%/*}" $process
  ends_with "${signal#*/}"
  is_left stopped || fail "${signal%/*} was not seen in the evaluation"
done

# The system says every second that the CPU time is over, until it ends the program.
rm -rf stopped
status=0
(ulimit -S -t 3 && ulimit -H -t 120 && exec "$char_lm" train $endless --out_dir stopped) > output 2> errors || status=$?
[ "$status" = 152 ] || fail "status $status where the CPU time is over: $(cat output errors)"
is_left stopped || fail "without CPU time: $(cat output errors)"

# A closing terminal sends SIGHUP twice, which is no second signal. The step takes seconds.
begins "$char_lm" hung_up --data text --model transformer --n_embd 256 --batch_size 128 --warmup_iters 0
awaits $process test -s hung_up/last.safetensors || fail "no first checkpoint: $(cat errors)"
for time in first second; do
  kill -HUP $process
  awaits $process grep -Eq '^ShdPnd:.*[02468ace]$' "/proc/$process/status"
done
ends_with 129
prints '^stopped after step [0-9]+; '

# What was to be ignored is.
(trap '' HUP USR1 && exec "$char_lm" train $endless --out_dir ignoring > output 2> errors) &
process=$! run=ignoring
awaits $process has_step 2 || fail "no step 2: $(cat errors)"
kill -HUP $process
kill -USR1 $process
kill -TERM $process
ends_with 143

# --- In a comparison: the training, the score and the sample.

command='compare transformer labml'
begins "$char_lm" compared $endless
awaits $process has_step 2 compared/transformer/1337 || fail "no step 2 of a comparison: $(cat errors)"
kill -TERM $process
ends_with 143
is_left compared/transformer/1337 || fail 'a comparison was not stopped in the evaluation'
begins "$char_lm" written $tiny --eval_iters 1 --length 100000000
awaits $process grep -q '"step":4,"train_loss"' written/transformer/1337/metrics.jsonl || fail "no step 4: $(cat errors)"
kill -USR1 $process
ends_with 138
[ ! -e written/labml ] || fail 'a comparison went on after its sample was stopped'
command=train

# --- A reader that goes away, before the training, in it, and by the same Ctrl-C.

# reads COUNT: as many lines, and goes.
reads() {
  head -n "$1" < pipe > lines &
  exec 4> pipe
}
mkfifo pipe
for count in 0 1 3; do
  reads $count
  [ $count != 0 ] || wait $!
  status=0
  "$char_lm" train $short --out_dir run >&4 2> errors || status=$?
  exec 4>&-
  [ "$status" = 1 ] || fail "status $status where $count lines are read"
  [ "$(cat errors)" = 'char_lm: standard output: cannot be written' ] || fail "$count lines are read: $(cat errors)"
  is_whole text
done
reads 1
"$char_lm" context whole_text --tokens 9 --out context.svg >&4 2> errors && fail 'a reader of context has gone'
exec 4>&-
[ -s context.svg ] || fail "no picture, since the reader has gone: $(cat errors)"

cat pipe > log &
reader=$!
(ulimit -t 120 && exec env --default-signal=INT "$char_lm" train $endless --out_dir logged) > pipe 2> errors &
process=$! run=logged
awaits $process has_step 2 || fail "no step 2: $(cat errors)"
kill -TERM $reader
wait $reader 2> /dev/null
kill -INT $process
status=0
wait $process 2> /dev/null || status=$?
[ "$status" = 130 ] || fail "status $status after the reader and the program were interrupted"
[ "$(cat errors)" = 'char_lm: standard output: cannot be written' ] || fail "interrupted: $(cat errors)"
is_left logged || fail 'interrupted with its reader, a run was not saved'

[ "$failures" = 0 ]
