#!/bin/sh
# Trains with char_lm and seq2seq, the programs $1 and $2, in several processes that mpirun, the
# program $3, starts: what they become is compared with the run of one process and with each other,
# and everything that may end one of them has to end all.
seq2seq=$(realpath "$2")
. "$(dirname "$0")/char_lm_checks.sh"
mpirun=$3
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

awk 'BEGIN { for (n = 0; n < 300; n++) print "line " n * n % 100 }' > text
awk 'BEGIN { for (n = 0; n < 300; n++) printf("%x\t%o\n", n * n, n * n) }' > pairs
small="--n_layer 2 --n_head 2 --n_embd 16 --batch_size 6 --dropout 0.1 --warmup_iters 4
  --lr_decay_iters 50 --max_iters 50 --log_interval 1 --eval_interval 25 --threads 1"
tiny="$small --data $place/text --block_size 8 --dropatt 0.1 --eval_iters 3"

# start N COMMAND...: N processes. One that takes two minutes of CPU time waits for others for ever, and is ended.
start() {
  number=$1
  shift
  bounded "$mpirun" -n "$number" --oversubscribe --bind-to none "$@" < /dev/null
}

# train N RUN ARGUMENT...: a training by $program in the folder RUN without a word on standard
# error, by N processes, or for 0 by one without mpirun.
train() {
  number=$1 run=$2
  shift 2
  mkdir -p "$run"
  (cd "$run" && if [ "$number" = 0 ]; then "$program" train "$@"; else
    start "$number" "$program" train "$@"; fi > output 2> errors) ||
    fail "status $? of $run: $*: $(cat "$run/errors")"
  [ ! -s "$run/errors" ] || fail "errors of $run: $*: $(cat "$run/errors")"
  [ "$(grep -Ec '^step ([0-9]+)/\1 ' "$run/output")" = 1 ] ||
    fail "not one last step: $(cat "$run/output")"
}

# ends STATUS TEXT COMMAND...: it ends so, with one line of $program that has the text in
# it. What else is on standard error is mpirun's.
ends() {
  wanted=$1 expected=$2
  shift 2
  status=0
  "$@" > output 2> errors || status=$?
  ended
}
ended() {
  [ "$status" = "$wanted" ] || fail "status $status, expected $wanted: $(cat errors)"
  [ "$(grep -c "^$(basename "$program"): " errors)" = 1 ] || fail "not one line: $(cat errors)"
  grep -qF -- "$expected" errors || fail "no '$expected' in: $(cat errors)"
}

# near A B: the runs have the same losses and norms at the same steps, up to rounding.
near() {
  for run in "$1" "$2"; do
    sed '/"samples"/d; s/"tokens_per_second[^}]*//; s/[^0-9.e+-]/ /g' "$run/out/metrics.jsonl" > "$run/numbers"
  done
  paste -d' ' "$1/numbers" "$2/numbers" > both
  awk '{ for (n = 1; n <= NF / 2; n++) {
           away = $n - $(n + NF / 2)
           if (away * away > 1e-6 * $n * $n) wrong = 1 } }
       NF % 2 { wrong = 1 }
       END { exit wrong || NR != 52 }' both || fail "$1 and $2 differ: $(cat both)"
}

# same A B: the runs left the same bits.
same() {
  cmp "$1/out/last.safetensors" "$2/out/last.safetensors" || fail "the last of $1 and $2"
  for run in "$1" "$2"; do
    sed 's/,"tokens_per_second[^}]*//' "$run/out/metrics.jsonl" > "$run/timeless"
  done
  cmp "$1/timeless" "$2/timeless" || fail "the metrics of $1 and $2"
}

# whole FOLDER: its last checkpoint can be read and gone on from.
whole() {
  "$char_lm" generate "$1" --checkpoint last --length 3 > written 2>&1 || fail "$1: $(cat written)"
}

# --- Any number of processes makes the steps of one.

while read -r name program flags; do
  [ "$program" = seq2seq ] && program=$seq2seq flags="$small --data $place/pairs $flags"
  [ "$program" = char_lm ] && program=$char_lm flags="$tiny $flags"
  train 0 "${name}_1" $flags
  grep -q waiting "${name}_1/out/metrics.jsonl" && fail "one process of $name has waited"
  for number in 2 4; do
    train $number "${name}_$number" $flags
    near "${name}_1" "${name}_$number"
    grep -q '"waiting":0' "${name}_$number/out/metrics.jsonl" || fail "$name waited for nobody"
    train $number "${name}_${number}_again" $flags
    same "${name}_$number" "${name}_${number}_again"
  done
  # As many go on with the same bits, others with the same steps.
  train 2 "${name}_parts" $(without max_iters $flags) --max_iters 20
  cp -r "${name}_parts" "${name}_more"
  cp -r "${name}_parts" "${name}_fewer"
  train 2 "${name}_parts" --resume --max_iters 50
  train 4 "${name}_more" --resume --max_iters 50
  train 0 "${name}_fewer" --resume --max_iters 50
  # The end of the first part was evaluated too.
  sed -i '/"step":20,"train_loss"/d; /"step":20,.*"samples"/d' "${name}"_*/out/metrics.jsonl
  same "${name}_2" "${name}_parts"
  near "${name}_1" "${name}_more"
  near "${name}_1" "${name}_fewer"
done << 'END'
transformer char_lm --model transformer
transformer_xl char_lm --model transformer_xl --mem_len 11 --gradient_accumulation_steps 2
pairs seq2seq --eval_pairs 20
END

# --- What one or all of them refuse is said once, and nothing is written.

program=$seq2seq
sed 's/^1	/1	5/' pairs > other_pairs
ends 2 'rank 1 begins with another train_pairs than rank 0' start 1 "$seq2seq" train $small \
  --data pairs : -n 1 "$seq2seq" train $small --data other_pairs
[ -e out/last.safetensors ] && fail 'seq2seq has begun with two sets of pairs'
program=$char_lm
sum=$(cksum transformer_2/out/*)
bad_data() {
  start 1 "$char_lm" train $tiny --out_dir transformer_2/out --overwrite : \
    -n 1 "$char_lm" train $(without "${1#--}" $tiny) "$@" --out_dir transformer_2/out --overwrite
}
ends 2 "char_lm: rank 1: $place/missing: No such file" bad_data --data missing
sed 's/line 0/line 1/' text > other
ends 2 'rank 1 begins with another train_text than rank 0' bad_data --data other
ends 2 'rank 1 begins with another learning_rate than rank 0' bad_data --learning_rate 0.1
ends 2 'char_lm: trainer: batch_size 3 for 4 peers' start 4 "$char_lm" train $(without batch_size $tiny) --batch_size 3 \
  --out_dir transformer_2/out
ends 2 "char_lm: $place/missing: No such file" start 4 "$char_lm" train $(without data $tiny) --data missing
ends 2 'char_lm: ' start 4 "$char_lm" train --no_such_flag
ends 2 'transformer_2/out: already holds a run; --overwrite replaces it' \
  start 2 "$char_lm" train $tiny --out_dir transformer_2/out
# Different commands would wait for each other for ever.
ends 2 'rank 1 runs char_lm eval, but rank 0 runs char_lm train; expected the same command on all ranks' \
  start 1 "$char_lm" train $tiny : -n 1 "$char_lm" eval transformer_2/out
ends 2 'rank 1 runs char_lm train, but rank 0 runs char_lm --help; expected the same command on all ranks' \
  start 1 "$char_lm" --help : -n 1 "$char_lm" train $tiny
ends 2 'rank 1 runs seq2seq train, but rank 0 runs char_lm train; expected the same command on all ranks' \
  start 1 "$char_lm" train $tiny : -n 1 "$seq2seq" train $small --data pairs
ends 2 'char_lm: --out_dir text: ' start 2 "$char_lm" train $tiny --out_dir text
[ "$(cksum transformer_2/out/*)" = "$sum" ] || fail 'what was refused has changed a run'

# --- What ends one of them ends all, and leaves the last checkpoint.

ends 1 'diverged/last.safetensors holds step 0' start 4 "$char_lm" train $tiny --out_dir diverged \
  --optimizer sgd --learning_rate 1e30 --grad_clip 0
whole diverged

# begin RUN: a long training by four processes under way; $process waits for it, $peers are they.
begin() {
  rm -rf "$1"
  start 4 "$char_lm" train $(without max_iters $tiny) --max_iters 1000000 --save_interval 1 --out_dir "$1" > output \
    2> errors &
  process=$!
  awaits $process test -s "$1/metrics.jsonl" || { fail "no $1: $(cat errors)"; return; }
  peers=$(pgrep -f -- "^$char_lm train .* --out_dir $1\$")
  [ "$(echo "$peers" | wc -l)" = 4 ] || fail "peers of $1: $peers"
}

# lives PROCESS: it has not ended, nor waits for somebody to ask how.
lives() {
  [ -n "$(awk '$3 != "Z"' "/proc/$1/stat" 2> /dev/null)" ]
}

# is_decided PROCESS TICKS: it has ended, or takes more than it needs to see that the others have.
is_decided() {
  ! lives "$1" || [ "$(ticks "$1")" -gt "$2" ]
}

# over RUN: it ends as badly as it should, and may go on.
over() {
  status=0
  wait $process || status=$?
  [ $status != 0 ] && [ $status != 152 ] || fail "status $status of $1: $(cat errors)"
  for peer in $peers; do
    awaits "$peer" is_decided "$peer" $(($(ticks "$peer") + 1000))
    ! lives "$peer" || { kill -9 "$peer"; fail "a peer of $1 lives on"; }
  done
  whole "$1"
}

for position in first last; do
  begin "killed_$position"
  kill -9 $(echo "$peers" | if [ $position = first ]; then head -n 1; else tail -n 1; fi)
  over "killed_$position"
  grep -q 'signal 9' errors || fail "no word about the signal in: $(cat errors)"
  grep '^char_lm: ' errors && fail 'a peer that was not killed has complained'
done
steps=$(($(sed -n 's/.*"step":\([0-9]*\).*/\1/p' killed_last/metrics.jsonl | tail -n 1) + 5))
runs train --resume --out_dir killed_last --max_iters $steps

# Asked to stop, all save and stop.
begin asked
kill -TERM $(echo "$peers" | tail -n 1)
over asked
grep -Eq 'stopped after step [0-9]+; train --resume --out_dir asked continues' output ||
  fail "asked to stop: $(cat output errors)"

# In an evaluation too, long before it ends.
awk 'BEGIN { for (n = 0; n < 200000; n++) print "line " n * n % 1000 }' > long
rm -rf evaluated
start 4 "$char_lm" train $(without 'data eval_iters eval_interval n_embd' $tiny) --data long --n_embd 192 --eval_iters 0 \
  --eval_interval 2 --eval_split 0.5 --out_dir evaluated > output 2> errors &
process=$!
awaits $process grep -q '"step":2,"loss"' evaluated/metrics.jsonl || fail "no step 2: $(cat errors)"
peers=$(pgrep -f -- "^$char_lm train .* --out_dir evaluated\$")
kill -TERM $(echo "$peers" | tail -n 1)
over evaluated
grep -q trainer.evaluation_due evaluated/last.safetensors || fail "asked in an evaluation: $(cat output errors)"

# The folder becomes a file, which not even root can write into.
begin unwritable
mv unwritable kept
touch unwritable
wanted=1 expected='unwritable/last.safetensors: '
status=0
wait $process || status=$?
ended
whole kept

if mkdir disk && mount -t tmpfs -o size=64k none disk 2> /dev/null; then
  ends 1 'No space left on device' start 2 "$char_lm" train $tiny --out_dir disk/out
  umount disk
fi

[ "$failures" = 0 ]
