#!/bin/sh
# Gives char_lm and seq2seq, the programs $1 and $2, models whose weights or results are not finite: each command
# that reports a result refuses it in one line.
tests=$(realpath "$(dirname "$0")/..")
seq2seq=$(realpath "$2")
. "$(dirname "$0")/char_lm_checks.sh"

# declines STATUS TEXT ARGUMENT...: with this status and nothing but one line that has this text in it.
declines() {
  wanted=$1 expected=$2
  shift 2
  before=$(all_files)
  status=0
  "$char_lm" "$@" > output 2> errors || status=$?
  [ "$status" = "$wanted" ] || fail "status $status of: $*: $(cat output errors)"
  [ "$(wc -l < errors)" = 1 ] || fail "not one line for: $*: $(cat errors)"
  grep -qF -- "$expected" errors || fail "no '$expected' for: $*: $(cat errors)"
  grep -qE -- '-nan|nlohmann|json.exception' output errors && fail "words of: $*: $(cat output errors)"
  grep -q nan output && fail "a result of: $*: $(cat output)"
  [ "$(all_files)" = "$before" ] || fail "a file changed by: $*"
}

small='--n_layer 1 --n_head 2 --n_embd 8 --batch_size 2 --warmup_iters 1 --max_iters 2 --eval_interval 2'
awk 'BEGIN { for (n = 0; n < 40; n++) print "line " n * n % 100 }' > text
runs train $small --block_size 4 --data text --out_dir run
cp -r run spoiled
for value in nan -nan inf -inf; do
  for name in best last; do
    python3 "$tests/support/spoiled.py" run/$name.safetensors spoiled/$name.safetensors embedding.weight $value
  done
  for command in eval generate positions context report 'attention --text line' 'attention --json --text line' \
    'positions --json' 'context --json' 'eval --losses losses' 'report run'; do
    # shellcheck disable=SC2086
    declines 2 'spoiled/best.safetensors: embedding.weight is not finite' $command spoiled
  done
  declines 2 'spoiled/last.safetensors: embedding.weight is not finite' train --resume --out_dir spoiled --max_iters 3
  declines 2 'spoiled/best.safetensors: embedding.weight is not finite' \
    train --init_from spoiled --data text --block_size 4 --batch_size 2 --out_dir new
  # Its content can be looked at.
  runs inspect spoiled
done

# Finite weights whose products are not.
python3 "$tests/support/spoiled.py" run/best.safetensors spoiled/best.safetensors blocks.0.mixer.qkv.weight 3e38 all
declines 1 'evaluate: a mean loss of nan nats over ' eval spoiled
declines 1 'the loss: nan, expected a finite number' context spoiled
declines 1 'the loss: nan, expected a finite number' context --json spoiled
declines 1 'evaluate: a mean loss of nan nats over ' report spoiled
declines 1 '' generate spoiled
declines 2 'an attention weight: nan, expected a finite number' attention --text line spoiled
declines 2 'an attention weight: nan, expected a finite number' attention --text line --json spoiled

# A loss that is no number is no JSON.
cp -r run broken
echo '{"step":1,"loss":NaN}' > broken/metrics.jsonl
declines 2 'broken/metrics.jsonl: line 1: not JSON' plot broken
echo '{"step":1,"loss":null,"validation_loss":null}' > broken/metrics.jsonl
declines 2 'broken/metrics.jsonl: has no finite loss' plot broken
declines 2 'broken/metrics.jsonl: has no finite loss' report broken

# --- The same for pairs.

awk 'BEGIN { for (n = 0; n < 60; n++) print n "\t" n * n }' > pairs.tsv
printf '12\n7\n' > sources
char_lm=$seq2seq
runs train $small --max_len 20 --data pairs.tsv --out_dir pairs
cp -r pairs bad
weight=encoder_norm.weight
for value in nan -inf; do
  for name in best last; do
    python3 "$tests/support/spoiled.py" pairs/$name.safetensors bad/$name.safetensors "$weight" $value
  done
  for command in eval translate report 'attention --source 12' 'attention --source 12 --json' 'report pairs'; do
    # shellcheck disable=SC2086
    declines 2 "bad/best.safetensors: $weight is not finite" $command bad
  done
  declines 2 "bad/last.safetensors: $weight is not finite" train --resume --out_dir bad --max_iters 3
done
python3 "$tests/support/spoiled.py" pairs/best.safetensors bad/best.safetensors decoder.0.cross_attention.qkv.weight 3e38 all
for command in eval 'attention --source 12 --target 144' 'attention --source 12 --target 144 --json'; do
  # shellcheck disable=SC2086
  declines "$(case $command in eval) echo 1 ;; *) echo 2 ;; esac)" 'expected' $command bad
done

[ "$failures" = 0 ]
