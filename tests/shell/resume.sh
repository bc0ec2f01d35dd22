#!/bin/sh
# Interrupts trainings by char_lm, the program $1, in every way there is, and lets them go on: at the
# end, each has to have the same bytes as one that was left alone.
. "$(dirname "$0")/char_lm_checks.sh"

# train ARGUMENT...: in the folder $run, without a word on standard error.
train() {
  (cd "$run" && "$char_lm" train "$@" > output 2> errors) || fail "status $? of: $*"
  said_nothing "$*"
}

# said_nothing WHAT: there is nothing in the errors of $run, but for a word about this CPU.
said_nothing() {
  grep -v ': --precision bfloat16 gains no time on this CPU' "$run/errors" > errors &&
    fail "errors of: $1: $(cat errors)"
}

# has_taken PROCESS TICKS: as much of the CPU.
has_taken() {
  [ "$(ticks "$1")" -ge "$2" ]
}

# begin RUN: an empty folder for a run.
begin() {
  run=$1
  rm -rf "$run"
  mkdir "$run"
}

# same_run RUN: the run in $run and that one left the same files, but for the speeds and the flags
# that went with the best checkpoint.
same_run() {
  for one in "$1" "$run"; do
    LC_ALL=C sed 's/max_iters\\":[0-9]*//; s/threads\\":[0-9]*//' "$one/out/best.safetensors" \
      > "$one/best"
    sed 's/,"tokens_per_second[^}]*//' "$one/out/metrics.jsonl" > "$one/metrics"
  done
  cmp "$1/out/last.safetensors" "$run/out/last.safetensors" || fail "the last of $run"
  cmp "$1/best" "$run/best" || fail "the best of $run"
  cmp "$1/metrics" "$run/metrics" || fail "the metrics of $run"
  [ "$(ls -A "$run/out")" = "$(ls -A "$1/out")" ] || fail "files of $run: $(ls -A "$run/out")"
}

# stops STATUS TEXT COMMAND...: it ends so, with one line on standard error that has the text in it.
stops() {
  wanted=$1 expected=$2
  shift 2
  status=0
  "$@" > output 2> errors || status=$?
  [ "$status" = "$wanted" ] || fail "status $status of: $*"
  [ "$(wc -l < errors)" = 1 ] || fail "not one line for: $*: $(cat errors)"
  grep -qF -- "$expected" errors || fail "no '$expected' in: $(cat errors)"
}

awk 'BEGIN { for (n = 0; n < 300; n++) print "line " n * n % 100 }' > text
tiny="--data $place/text --n_layer 2 --n_head 2 --n_embd 16 --block_size 8 --batch_size 4
  --dropout 0.1 --warmup_iters 4 --lr_decay_iters 120 --log_interval 1 --eval_iters 3"

# --- Killed at any moment, again and again, it comes to the same end.

while read -r name model; do
  flags="$tiny --eval_interval 10 --save_interval 1 --max_iters 120 --model $model"
  begin "whole_$name"
  train $flags
  [ "$(wc -l < "$run/out/metrics.jsonl")" = 132 ] || fail "metrics of $run"

  begin "parts_$name"
  train $(without max_iters $flags) --max_iters 15
  train --resume --max_iters 30 --threads 1
  train --resume --max_iters 120 --threads 0
  grep -q 'continues after step 30 of 120' "$run/output" || fail "output: $(cat "$run/output")"
  # The end of the first part was evaluated too.
  sed -i '/"step":15,"train_loss"/d' "$run/out/metrics.jsonl"
  same_run "whole_$name"

  begin "killed_$name"
  kills=0
  flag="$flags"
  while [ ! -s "$run/done" ] && [ $kills -lt 50 ]; do
    (cd "$run" && exec "$char_lm" train $flag > output 2> errors) &
    process=$!
    # A start takes some hundredths of a second of the CPU, and so do a few steps.
    awaits $process has_taken $process \
      "$(awk -v n=$kills 'BEGIN { srand(n); print int(2 + 1.2 * n * rand()) }')"
    kill -9 $process 2> /dev/null
    status=0
    wait $process 2> /dev/null || status=$?
    [ $status = 0 ] && echo done > "$run/done"
    said_nothing "$run"
    if [ -f "$run/out/last.safetensors" ]; then
      flag=--resume
      "$char_lm" generate "$run/out" --checkpoint last --length 1 > output 2>&1 ||
        fail "the last checkpoint of $run: $(cat output)"
    fi
    kills=$((kills + 1))
  done
  [ -s "$run/done" ] || train $flag
  echo "$name: $kills starts"
  same_run "whole_$name"
done << 'END'
transformer transformer
transformer_xl transformer_xl --mem_len 11
sgd transformer_xl --optimizer sgd --momentum 0.5
accumulated transformer_xl --gradient_accumulation_steps 2 --dropatt 0.2 --freeze blocks.0.*
rising transformer_xl --gradient_accumulation_steps 3 --batch_warmup_iters 40 --lr_scale *.bias=2
bfloat16 transformer_xl --mem_len 11 --precision bfloat16
auxiliary transformer --intermediate_losses 1 --targets 2
aft aft --form local --window 4
END

# --- What may change beside --resume, and what may not.

saved=$place/whole_transformer/out
sum=$(cksum "$saved"/*)
stops 2 '--batch_size 5: must stay' "$char_lm" train --resume --out_dir "$saved" --batch_size 5
stops 2 '--seed 1: must stay' "$char_lm" train --resume --out_dir "$saved" --seed 1
stops 2 '--precision "bfloat16": must stay' "$char_lm" train --resume --out_dir "$saved" \
  --precision bfloat16
stops 2 '--mem_len 3: this --model transformer has no memory' "$char_lm" train --resume --out_dir "$saved" --mem_len 3
stops 2 '--max_iters 119: the run in' "$char_lm" train --resume --out_dir "$saved" --max_iters 119
stops 2 'missing/last.safetensors: no such file' "$char_lm" train --resume --out_dir missing
sed 's/line 0/line 1/' text > other
stops 2 "$saved/last.safetensors: train_text: others than the run's" \
  "$char_lm" train --resume --out_dir "$saved" --data other
head -n 299 text > shorter
stops 2 "the run's had" "$char_lm" train --resume --out_dir "$saved" --data shorter
mkdir model_only
cp "$saved/best.safetensors" model_only/last.safetensors
stops 2 'model_only/last.safetensors: has no training state' \
  "$char_lm" train --resume --out_dir model_only
[ "$(cksum "$saved"/*)" = "$sum" ] || fail 'what was refused has changed the run'
# Nothing is left to do, the same flag is no change, and the same text may lie elsewhere.
cp text copy
"$char_lm" train --resume --out_dir "$saved" --batch_size 4 --data copy > output 2>&1 ||
  fail "resumed at its end: $(cat output)"
[ "$(cksum "$saved"/*)" = "$sum" ] || fail 'a run that was at its end has changed'

# --- Signals.

# until_written FILE: waits for the training, $process, to have written something there.
until_written() {
  awaits $process test -s "$1" || fail "no $1: $(cat "$run/errors")"
}

# interrupted SIGNAL STATUS: a run that gets it saves, ends so, and goes on to the same end.
begin whole_signal
train $tiny --eval_interval 1000 --max_iters 3000
interrupted() {
  begin "interrupted_$1"
  (cd "$run" && exec env --default-signal=INT,TERM,HUP,USR1,XCPU "$char_lm" train $tiny --eval_interval 1000 \
    --max_iters 3000 > output 2> errors) &
  process=$!
  until_written "$run/out/metrics.jsonl"
  kill "-$1" $process
  status=0
  wait $process 2> /dev/null || status=$?
  [ $status = "$2" ] || fail "status $status after $1"
  grep -Eq 'stopped after step [0-9]+; train --resume --out_dir out continues' "$run/output" ||
    fail "after $1: $(cat "$run/output" "$run/errors")"
  train --resume
  same_run whole_signal
}
if env --default-signal=INT true 2> /dev/null; then interrupted INT 130; fi
interrupted TERM 143
interrupted HUP 129
interrupted USR1 138
interrupted XCPU 152

# A second signal does not wait for the step, which takes seconds.
begin impatient
(cd "$run" && exec "$char_lm" train --data "$place/text" --model transformer --n_embd 256 \
  --batch_size 128 --warmup_iters 0 > output 2> errors) &
process=$!
until_written "$run/out/last.safetensors"
kill -TERM $process
# The first one was taken when it is pending no more.
awaits $process grep -Eq '^ShdPnd:.*[012389ab]...$' "/proc/$process/status"
kill -TERM $process
status=0
wait $process 2> /dev/null || status=$?
[ $status = 143 ] || fail "status $status after two signals"
grep 'stopped' "$run/output" && fail 'a second signal was not at once'

# --- Nobody else trains in the folder of a run, and nothing is left of one that was killed.

begin locked
(cd "$run" && exec "$char_lm" train $tiny --max_iters 100000 --eval_interval 100000 > output \
  2> errors) &
process=$!
until_written "$run/out/last.safetensors"
kill -STOP $process
sum=$(cksum locked/out/* && ls -A locked/out)
for command in train 'train --resume' 'compare transformer'; do
  flags=$tiny
  [ "$command" != 'train --resume' ] || flags=
  stops 2 '--out_dir locked/out: another training is using it' \
    "$char_lm" $command $flags --out_dir locked/out
done
[ "$(cksum locked/out/* && ls -A locked/out)" = "$sum" ] || fail 'a second training changed a run'
"$char_lm" generate locked/out --checkpoint last --length 1 > output 2>&1 || fail "$(cat output)"
kill -9 $process
wait $process 2> /dev/null
"$char_lm" train --resume --out_dir locked/out --max_iters 200 > output 2>&1 ||
  fail "resumed after kill -9: $(cat output)"

# --- What fails under way leaves the last checkpoint.

begin full
train $tiny --eval_interval 10 --max_iters 10
sum=$(cksum full/out/last.safetensors)
blocks=$(($(wc -c < full/out/last.safetensors) / 1024))
full_disk() { (cd full && ulimit -f "$blocks" && "$char_lm" train "$@"); }
stops 1 'last.safetensors: cannot be written: File too large; out/last.safetensors holds step 10' \
  full_disk --resume --max_iters 12 --eval_interval 100
[ "$(cksum full/out/last.safetensors)" = "$sum" ] || fail 'a full disk has changed a checkpoint'
stops 1 'last.safetensors: cannot be written: File too large' full_disk $tiny --overwrite
[ "$(cksum full/out/last.safetensors)" = "$sum" ] || fail 'a full disk has changed a checkpoint'
[ "$(ls -A full/out | tr '\n' ' ')" = 'best.safetensors last.safetensors metrics.jsonl ' ] ||
  fail "a full disk has left $(ls -A full/out)"

if mkdir disk && mount -t tmpfs -o size=64k none disk 2> /dev/null; then
  stops 1 'No space left on device' "$char_lm" train --data text --out_dir disk/out
  umount disk
fi
# Nothing is read-only for root, but for a user without a name it is.
user=''
[ "$(id -u)" = 0 ] && user='setpriv --reuid=65534 --regid=65534 --clear-groups'
chmod 711 "$place"
chmod 666 full/out/metrics.jsonl
chmod 555 full/out
sum=$(cksum full/out/*)
if $user test -x "$char_lm" 2> /dev/null; then
  stops 1 'out/metrics.jsonl: no temporary file can be made next to it: Permission denied' \
    $user "$char_lm" train --resume --out_dir full/out --max_iters 20
  stops 1 'out/last.safetensors: no temporary file can be made next to it: Permission denied' \
    $user "$char_lm" train $tiny --out_dir full/out --overwrite
  [ "$(cksum full/out/*)" = "$sum" ] || fail 'a read-only folder has changed'
fi
chmod 755 full/out

begin diverged
cd diverged || exit 1
stops 1 'out/last.safetensors holds step 0' \
  "$char_lm" train $tiny --optimizer sgd --learning_rate 1e30 --grad_clip 0
grep -Eq 'step [0-9]+: loss .*, gradient norm .*: not finite|is not finite' errors ||
  fail "a run that diverges: $(cat errors)"
"$char_lm" generate out --checkpoint last --length 3 > output 2>&1 || fail "$(cat output)"
cd ..

# A checkpoint that is there no more is not said to hold a step.
begin removed
(cd removed && exec "$char_lm" train $tiny --max_iters 1000000 --eval_interval 1000000 --save_interval 20 \
  > output 2> errors) &
process=$!
awaits $process grep -q '^step 20/' removed/output || fail "no step 20: $(cat removed/errors)"
mv removed/out gone
status=0
wait $process || status=$?
[ "$status" = 1 ] || fail "status $status of a run whose folder was removed"
grep -q 'out/last.safetensors: ' removed/errors || fail "the errors of a removed folder: $(cat removed/errors)"
grep -q 'holds step' removed/errors && fail "a removed folder is said to hold a step: $(cat removed/errors)"

[ "$failures" = 0 ]
