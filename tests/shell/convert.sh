#!/bin/sh
# Checks that the program $1, char_lm, converts a trained model to another kind that computes the same
# and trains on, and refuses what it cannot convert.
tests=$(realpath "$(dirname "$0")/..")
. "$(dirname "$0")/char_lm_checks.sh"

awk 'BEGIN { for (n = 0; n < 400; n++) print "line " n * n % 100 }' > text
tiny="--data text --n_layer 2 --n_head 2 --n_embd 16 --block_size 8 --batch_size 4 --warmup_iters 2
  --eval_interval 20 --eval_iters 2 --learning_rate 1e-2"

# losses RUN FLAG...: writes the loss of each character to a file of its own.
losses() {
  run=$1
  shift
  runs eval "$run" --losses "losses-$(echo "$run" | tr / -)" "$@"
}

# equal FILE FILE: the same numbers, but for the last digits of floats.
equal() {
  paste "$1" "$2" | awk '{ d = $1 - $2 } d * d > 3e-11 || NF != 2 { exit 1 }' || fail "$1 and $2 differ"
}

# same RUN RUN: they give each character the same loss, in all ways to score that the kind of model has,
# and write the same text.
same() {
  for flags in '--mode chunks' '--mode chunks --checkpoint last' "$memory --mem_len 5" \
    "$memory --tgt_len 1"; do
    # shellcheck disable=SC2086
    losses "$1" $flags
    # shellcheck disable=SC2086
    losses "$2" $flags
    equal "losses-$1" "losses-$2"
  done
  losses "$1"
  score=$(head -n 4 output)
  losses "$2"
  [ "$(head -n 4 output)" = "$score" ] || fail "$2 is scored otherwise: $(cat output)"
  for run in "$1" "$2"; do
    runs generate "$run" --prompt 'line ' --length 100 --temperature 0
    cp output "text-$run"
  done
  cmp -s "text-$1" "text-$2" || fail "$2 writes another text"
}

# converts NAME KIND FLAG...: trains, converts to that kind, compares and trains on.
converts() {
  name=$1 kind=$2 memory='--mode memory'
  [ "$kind" = aft_full ] && memory='--mode chunks'
  shift 2
  # shellcheck disable=SC2086
  runs train $tiny "$@" --max_iters 40 --out_dir "$name"
  runs convert "$name" --to "$kind" --out_dir "$name-new"
  [ "$(cat output)" = "$name-new/best.safetensors
$name-new/last.safetensors" ] || fail "convert printed: $(cat output)"
  same "$name" "$name-new"
  runs train --init_from "$name-new" --data text --eval_iters 2 --batch_size 4 --eval_interval 5 \
    --max_iters 20 --learning_rate 1e-2 --out_dir "$name-on"
  before=$(sed -n 's/.*"train_loss":\([0-9.]*\).*/\1/p' "$name-on/metrics.jsonl" | head -n 1)
  after=$(sed -n 's/.*"train_loss":\([0-9.]*\).*/\1/p' "$name-on/metrics.jsonl" | tail -n 1)
  awk "BEGIN { exit !($after < $before) }" || fail "$name-on does not learn: $before, $after"
  runs generate "$name-on" --length 5
  refuses "$name-new/last.safetensors: has no training state to continue from" \
    train --resume --max_iters 60 --out_dir "$name-new"
}
converts labml transformer_xl --model labml --max_positions 20 --dropout 0.1
converts music transformer_xl --model music_transformer --max_seq 6 --norm_first false
converts shaw transformer_xl --model shaw --max_distance 3 --value_positions false --mem_len 8
converts local aft_full --model aft --window 3
converts thin aft_full --model aft --form full --factor_rank 2 --position sinusoid
runs train --init_from thin-new --factor_rank 0 --data text --batch_size 4 --max_iters 1 --out_dir thin-one-table
runs inspect labml-new
prints '^  mixer.max_positions +21$'
prints '^  mixer.window +21$'
prints '^  projection_bias +true$'

# In bfloat16 each weight is rounded to nearest, ties to even; the run, its score and its text are there, but neither a
# state to resume from nor the places of texts. Rounded again, nothing changes.
runs convert labml --to bfloat16 --out_dir rounded
python3 - << 'END' || fail 'the weights in bfloat16'
import json, struct

def read(path):
    data = open(path, "rb").read()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    metadata = header.pop("__metadata__")
    return metadata, {name: (tensor["dtype"], data[8 + size:][slice(*tensor["data_offsets"])])
                      for name, tensor in header.items()}

def nearest(bits):
    low, high = bits >> 16, (bits >> 16) + 1
    below, above = bits - (low << 16), (high << 16) - bits
    return low if below < above or below == above and low % 2 == 0 else high

(before, floats), (after, halves) = read("labml/best.safetensors"), read("rounded/best.safetensors")
weights = {name for name in floats if not name.startswith("trainer.")}
assert set(halves) == weights and weights, set(halves) ^ weights
for name in weights:
    wide = struct.unpack(f"<{len(floats[name][1]) // 4}I", floats[name][1])
    assert halves[name] == ("BF16", struct.pack(f"<{len(wide)}H", *map(nearest, wide))), name
training = json.loads(after.pop("training"))
assert training["data"] == training["val_data"] == "" and training["out_dir"] == "rounded", training
assert training["texts_left_out"] is True, training
assert after == {key: before[key] for key in before if key != "training"}, after
END
runs convert rounded --to bfloat16 --out_dir again
# The text that was left out is not the one that a run without --data has.
for run in rounded again; do
  refuses "$run/best.safetensors: does not say where its text is; --data names one to score" eval $run
done
for run in labml rounded again; do
  runs eval $run --data text --losses "losses-$run" --mode memory
  awk '{ sum += $1 } END { print sum / NR }' "losses-$run" > "mean-$run"
done
cmp -s losses-rounded losses-again || fail 'rounded again, it computes something else'
paste mean-labml mean-rounded | awk '{ d = $1 - $2; exit !(d * d < 1e-4 && d != 0) }' || fail "$(cat mean-*)"
runs generate rounded --prompt 'line ' --length 20
runs inspect labml
total=$(sed -n 's/^\(total .*\) [-0-9.]* *[-0-9.]* *[-0-9.]*$/\1/p' output)
runs inspect rounded
prints "^$total [-0-9. ]*$"
# Weights in F16 and F64, as other programs write them, are read as those in BF16 are.
for type in F16 F64; do
  python3 "$tests/support/with_dtype.py" labml/best.safetensors "of-$type.safetensors" $type
  runs eval "of-$type.safetensors" --data text --losses "losses-$type" --mode memory
  awk '{ sum += $1 } END { print sum / NR }' "losses-$type" > "mean-$type"
  runs generate "of-$type.safetensors" --prompt 'line ' --length 20
  runs inspect "of-$type.safetensors"
  prints "^blocks.0.mixer.qkv.weight  +\[48, 16\]  +$type  +768 "
  runs train --init_from "of-$type.safetensors" --data text --batch_size 4 --max_iters 1 --out_dir "from-$type"
  runs convert "of-$type.safetensors" --to bfloat16 --out_dir "again-$type"
done
cmp -s losses-labml losses-F64 || fail 'weights in F64 that floats can hold compute something else'
paste mean-labml mean-F16 | awk '{ d = $1 - $2; exit !(d * d < 1e-6) }' || fail "$(cat mean-*)"
runs eval again-F64 --data text --losses losses-again-F64 --mode memory
cmp -s losses-rounded losses-again-F64 || fail 'F64 is rounded to BF16 otherwise'
runs convert rounded --to transformer_xl --out_dir rounded-xl
losses rounded-xl --data text --mode memory
equal losses-rounded losses-rounded-xl
refuses 'rounded/last.safetensors: has no training state to continue from' \
  train --resume --data text --max_iters 60 --out_dir rounded

# A file alone becomes the best checkpoint, whichever it was.
runs convert labml/last.safetensors --to transformer_xl --out_dir last
[ "$(ls last)" = best.safetensors ] || fail "of a file: $(ls last)"
runs eval last
runs convert last/best.safetensors --help
prints 'transformer_xl|aft_full|bfloat16'

# What cannot be converted, and why.
# shellcheck disable=SC2086
for model in transformer transformer_xl shaw r_transformer 'aft --form simple' 'music_transformer --position sinusoid'; do
  name=$(echo "$model" | tr -d ' -')
  runs train $tiny --model $model --max_iters 1 --out_dir "of-$name"
done
to="--to transformer_xl --out_dir new"
# shellcheck disable=SC2086
{
  refuses 'of-aftformsimple/best.safetensors: to_transformer_xl: aft, expected attention' \
    convert of-aftformsimple $to
  refuses 'of-transformer/best.safetensors: adds learned positions to its embeddings, which --model transformer_xl does not' \
    convert of-transformer $to
  refuses 'of-shaw/best.safetensors: shaw_attention: has embeddings of distances for values, but transformer_xl_attention has none' \
    convert of-shaw $to
  refuses 'of-r_transformer/best.safetensors: to_transformer_xl: r_transformer_block, expected transformer_block' \
    convert of-r_transformer $to
  refuses 'of-music_transformerpositionsinusoid/best.safetensors: adds sinusoid positions to its embeddings, which --model transformer_xl does not' \
    convert of-music_transformerpositionsinusoid $to
  refuses 'of-aftformsimple/best.safetensors: aft: reads texts of any length' \
    convert of-aftformsimple --to aft_full --out_dir new
  refuses 'of-transformer_xl/best.safetensors: transformer_xl_attention: has terms for any distance, expected a window' \
    convert of-transformer_xl $to
  refuses '--out_dir music-new: already holds a run, expected a new folder' \
    convert labml --to transformer_xl --out_dir music-new
  refuses 'nowhere: no such file' convert nowhere $to
  refuses '--out_dir text' convert labml --to transformer_xl --out_dir text
  mkdir empty
  refuses 'empty: holds no checkpoint' convert empty $to
  refuses '--to' convert labml --to shaw --out_dir new
  refuses '--to' convert labml --out_dir new
  refuses '--out_dir' convert labml --to transformer_xl
}
[ ! -e new ] || fail 'a refused conversion left its folder'

[ "$failures" = 0 ]
