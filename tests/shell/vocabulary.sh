#!/bin/sh
# Checks that a model of char_lm, the program $1, can go on with characters that it did not know, and with other
# lengths, and that what it knows stays as it was.
tests=$(realpath "$(dirname "$0")/..")
. "$(dirname "$0")/char_lm_checks.sh"

awk 'BEGIN { for (n = 0; n < 200; n++) print "line " n * n % 100 }' > text
{ cat text; echo 'Ein Satz: schön, 3 €.'; } > german
tiny='--n_layer 1 --n_head 2 --n_embd 16 --block_size 8 --batch_size 4 --max_iters 2 --warmup_iters 1'

# --- all_bytes knows every byte, whatever the text has.
# shellcheck disable=SC2086
runs train --data text $tiny --vocab all_bytes --out_dir bytes
runs inspect bytes
prints '^vocabulary +256 all_bytes$'
prints '^embedding.weight +\[256, 16\]'
runs generate bytes --prompt 'schön €' --length 3
# shellcheck disable=SC2086
runs train --init_from bytes --data german $tiny --out_dir bytes-on
refuses '--vocab_from: --vocab all_bytes has all bytes already' \
  train --data text --vocab all_bytes --vocab_from german --out_dir none

# --- vocab_from takes the vocabulary of a text, or of a run.
# shellcheck disable=SC2086
runs train --data text $tiny --vocab characters --vocab_from german --out_dir prepared
# The same command goes on with --resume, though the checkpoint has the whole path.
# shellcheck disable=SC2086
runs train --data text $tiny --vocab characters --vocab_from german --lr_decay_iters 0 --out_dir prepared --resume
characters=$(python3 -c 'print(len(set(open("german", encoding="utf-8").read())))')
runs inspect prepared
prints "^vocabulary +$characters characters$"
runs generate prepared --prompt 'schön €' --length 3
for from in prepared prepared/last.safetensors; do
  # shellcheck disable=SC2086
  runs train --data text $tiny --vocab characters --vocab_from $from --out_dir from-run --overwrite
  runs inspect from-run
  prints "^vocabulary +$characters characters$"
done
refuses '--vocab bytes: expected characters, as in ' train --data text --vocab_from prepared --out_dir none
refuses 'german: the model does not know 13 characters: ' train --data german --vocab_from text --out_dir none
grep -q '; --vocab_from has to name all that the texts have$' errors || fail "no remedy: $(cat errors)"
refuses 'nowhere: No such file' train --data text --vocab_from nowhere --out_dir none

# --- Without a flag, an unknown character is an error that names all of them and the way; with it, each gets rows of
# its own, and the others keep theirs. One model has its embedding as output, the other one has both.
refuses '--add_characters: expected --init_from' train --data text --add_characters --out_dir none
for vocab in bytes characters; do
  for tied in true false; do
    run=$vocab-$tied
    # shellcheck disable=SC2086
    runs train --data text $tiny --vocab $vocab --tie_embedding $tied --out_dir "$run"
    refuses "german: the model does not know 13 characters: 'E', 'S', 'a', 't', 'z', ':', 's', 'c', 'h', " \
      train --init_from "$run" --data german --out_dir none
    grep -q "U+20AC '€'.*; --add_characters gives new characters rows of their own$" errors ||
      fail "not all, or no remedy: $(cat errors)"
    # shellcheck disable=SC2086
    runs train --init_from "$run" --data german --add_characters $(without max_iters $tiny) --max_iters 0 --out_dir "$run-more"
    # shellcheck disable=SC2086
    runs train --data german --vocab $vocab --tie_embedding $tied $(without max_iters $tiny) --max_iters 0 --out_dir "$run-new"
    python3 - "$run/best" "$run-more/last" "$run-new/last" << 'END' || fail "the rows of $run-more"
import json, struct, sys

def read(path):
    data = open(path + ".safetensors", "rb").read()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    codes = json.loads(header.pop("__metadata__")["vocabulary"])
    return codes, {name: (tensor["shape"], data[8 + size:][slice(*tensor["data_offsets"])])
                   for name, tensor in header.items() if not name.startswith("trainer.")}

(before, old), (after, more), (codes, new) = map(read, sys.argv[1:])
assert after == codes == sorted(set(before) | set(codes)) and len(after) > len(before)
assert old.keys() == more.keys() == new.keys()
rows = [name for name in old if old[name] != more[name]]
assert all(name.split(".")[0] in ("embedding", "output") for name in rows) and "embedding.weight" in rows, rows
for name in rows:
    size = len(old[name][1]) // len(before)
    row = lambda values, n: values[1][n * size:(n + 1) * size]
    assert more[name][0] == [len(after), *old[name][0][1:]], name
    for n, code in enumerate(after):
        start = row(old[name], before.index(code)) if code in before else row(new[name], n)
        assert row(more[name], n) == start, (name, code)
END
    # What the old model knew is scored by the new one with a larger vocabulary, and it learns the rest.
    # shellcheck disable=SC2086
    runs train --init_from "$run" --data german --add_characters $tiny --out_dir "$run-on"
    runs generate "$run-on" --prompt 'schön €' --length 3
    runs train --resume --out_dir "$run-on" --max_iters 3
  done
done
# Nothing new, and nothing is changed.
for flag in '' --add_characters; do
  # shellcheck disable=SC2086
  runs train --init_from characters-true --data text $tiny $flag --out_dir "same$flag"
done
cmp -s same/metrics.jsonl same--add_characters/metrics.jsonl ||
  { sed 's/"tokens_per_second.*//' same/metrics.jsonl > one; sed 's/"tokens_per_second.*//' same--add_characters/metrics.jsonl > two; cmp -s one two; } ||
  fail 'a flag that adds nothing changes something'

# --- Lengths are free where no weight depends on them. What another length would change names it.
# lengths_of RUN: block_size and mem_len among its flags.
lengths_of() {
  runs inspect "$1" --checkpoint last
  awk '$1 == "block_size" || $1 == "mem_len" { printf "%s ", $2 }' output
}
# shellcheck disable=SC2086
{
  runs train --data text $tiny --model transformer_xl --mem_len 12 --out_dir xl
  runs train --data text $tiny --model transformer --position rope --out_dir rope
  runs train --data text $tiny --model transformer --out_dir learned
  runs train --data text $tiny --model labml --out_dir labml
  runs train --data text $tiny --model labml --max_positions 40 --out_dir wide
}
runs train --init_from xl --data text --max_iters 1 --batch_size 4 --out_dir xl-on
[ "$(lengths_of xl-on)" = '8 12 ' ] || fail "other lengths: $(lengths_of xl-on)"
for lengths in '--block_size 16' '--mem_len 5' '--mem_len 0' '--block_size 5 --mem_len 30'; do
  # shellcheck disable=SC2086
  runs train --init_from xl --data text --max_iters 1 --batch_size 4 --out_dir xl-on --overwrite $lengths
  cp -r xl xl-resumed
  # shellcheck disable=SC2086
  runs train --resume --out_dir xl-resumed --max_iters 4 $lengths
  [ "$(lengths_of xl-on)" = "$(lengths_of xl-resumed)" ] || fail "lengths of xl-resumed: $(lengths_of xl-resumed)"
  runs eval xl-resumed --checkpoint last --data text
  rm -r xl-resumed
done
runs train --init_from rope --data text --max_iters 1 --batch_size 4 --block_size 20 --out_dir rope-on
[ "$(lengths_of rope-on)" = '20 0 ' ] || fail "lengths of rope-on: $(lengths_of rope-on)"
runs train --init_from rope --data text --max_iters 1 --batch_size 4 --mem_len 4 --out_dir rope-memory
refuses '--mem_len 4: must stay 0, as in rope/last.safetensors: it decides whether batches follow each other' \
  train --resume --out_dir rope --mem_len 4 --max_iters 4
runs train --resume --out_dir rope --block_size 20 --max_iters 4
runs train --init_from wide --data text --max_iters 1 --batch_size 4 --block_size 10 --mem_len 20 --out_dir wide-on
refuses '--block_size 16: must stay 8, as in labml/best.safetensors, whose weights depend on it' \
  train --init_from labml --data text --block_size 16 --out_dir none
refuses '--mem_len 30: must stay 8, as in labml/best.safetensors, whose weights depend on it' \
  train --init_from labml --data text --mem_len 30 --out_dir none
refuses '--block_size 16: must stay 8, as in learned/last.safetensors, whose weights depend on it' \
  train --resume --out_dir learned --block_size 16
refuses '--block_size 16: must stay 8, as in learned/best.safetensors, whose weights depend on it' \
  train --init_from learned --data text --block_size 16 --out_dir none

# --- What cannot change when a run is resumed names the way, which works.
refuses '--learning_rate 0.01: must stay 0.001, as in xl/last.safetensors; a new run can change it: ' \
  train --resume --out_dir xl --learning_rate 0.01
grep -q -- '--init_from xl/last.safetensors --out_dir NEW_FOLDER$' errors || fail "no way: $(cat errors)"
runs train --init_from xl/last.safetensors --out_dir faster --data text --learning_rate 0.01 --max_iters 1 --batch_size 4
refuses '--n_layer 2: must stay 1, as in xl/last.safetensors, whose weights depend on it' \
  train --resume --out_dir xl --n_layer 2
[ ! -e none ] || fail 'a refused command left its folder'

[ "$failures" = 0 ]
