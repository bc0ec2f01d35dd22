#!/bin/sh
# Gives char_lm and seq2seq, the programs $1 and $2, more than the memory holds. Each says in one line what was too
# large, and inspect needs no more memory for a large file than for a small one.
seq2seq=$(realpath "$2")
tests=$(realpath "$(dirname "$0")/..")
. "$(dirname "$0")/char_lm_checks.sh"

awk 'BEGIN { for (n = 0; n < 100; n++) print "line " n * n % 100 }' > text
tiny='--n_layer 1 --n_head 2 --n_embd 16 --batch_size 4 --max_iters 1 --warmup_iters 1'
# shellcheck disable=SC2086
runs train --data text --block_size 8 --out_dir run $tiny
# shellcheck disable=SC2086
"$seq2seq" train $tiny --out_dir pairs > output || fail "seq2seq: $(cat output)"

# with_zeros FROM TO COUNT: the file with one more tensor of so many zeros, of which the disk stores none. It is the
# trainer's, unless it is alone.
with_zeros() {
  python3 - "$@" << 'END'
import json, os, struct, sys
source, target, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
header, data = {}, b""
if source:
    content = open(source, "rb").read()
    size = struct.unpack("<Q", content[:8])[0]
    header, data = json.loads(content[8:8 + size]), content[8 + size:]
header["trainer.zeros" if source else "zeros"] = {
    "dtype": "F32", "shape": [count], "data_offsets": [len(data), len(data) + 4 * count]}
text = json.dumps(header).encode()
with open(target, "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + data)
    file.truncate(file.tell() + 4 * count)
END
}

# --- inspect: 128 MiB of values cost less than 16 MiB, whoever wrote the file.
# peak_of FILE: the KiB that inspect keeps in memory at most.
peak_of() {
  python3 - "$char_lm" "$1" << 'END' > peak || fail "inspect $1"
import resource, subprocess, sys
subprocess.run([sys.argv[1], "inspect", sys.argv[2]], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
END
  cat peak
}
for file in '' run/last.safetensors pairs/best.safetensors; do
  with_zeros "$file" small.safetensors 10
  with_zeros "$file" large.safetensors 33554432
  more=$(($(peak_of large.safetensors) - $(peak_of small.safetensors)))
  [ "$more" -lt 16384 ] || fail "inspect needs $more KiB more for a large file of '$file'"
done
runs inspect large.safetensors

# --- Nothing dies of a failed allocation: status 2, and one line that says what was too large. OpenBLAS reserves
# memory for each core.
limited() {
  (ulimit -v $((1500000 + 100000 * $(nproc))) && "$@")
}
# ends STATUS TEXT PROGRAM ARGUMENT...
ends() {
  wanted=$1 expected=$2
  shift 2
  status=0
  limited "$@" > output 2> errors || status=$?
  [ "$status" = "$wanted" ] || fail "status $status of: $*"
  [ "$(wc -l < errors)" = 1 ] || fail "not one line for: $*: $(cat errors)"
  grep -q -- "$expected" errors || fail "no '$expected' in: $(cat errors)"
  grep -qE 'std::|bad_alloc' errors && fail "words of a library: $(cat errors)"
}
too_large() { ends 2 "$@"; }
with_zeros run/best.safetensors vast.safetensors 25000000000
with_zeros pairs/best.safetensors vast_pairs.safetensors 25000000000
vast='tensor "trainer.zeros", 100000000000 bytes: too large for the memory$'
for command in eval generate report 'attention --text line' 'convert --to bfloat16 --out_dir new' positions \
  'train --data text --out_dir new --init_from'; do
  # shellcheck disable=SC2086
  too_large "^char_lm: vast.safetensors: $vast" "$char_lm" $command vast.safetensors
done
for command in eval report 'train --out_dir new --init_from'; do
  # shellcheck disable=SC2086
  too_large "^seq2seq: vast_pairs.safetensors: $vast" "$seq2seq" $command vast_pairs.safetensors
done
# A text that fits, but not its tokens, which take four bytes each; and one that does not fit.
truncate -s 400M zeros
truncate -s 20G vast
too_large '^char_lm: train: too large for the memory$\|^char_lm: [^ ]*zeros: too large for the memory$' \
  "$char_lm" train --data zeros --out_dir new
too_large '^char_lm: [^ ]*vast: too large for the memory$' "$char_lm" train --data vast --out_dir new
too_large '^char_lm: [^ ]*vast: too large for the memory$' "$char_lm" eval run --data vast
too_large '^seq2seq: [^ ]*vast: too large for the memory$' "$seq2seq" train --data vast --out_dir new
# A model that does not fit.
weights='the weights alone need more than [0-9.]* GB of memory, and this process may have [0-9.]* GB'
too_large "^char_lm: $weights" \
  "$char_lm" train --data text --batch_size 1 --block_size 8 --n_embd 1000000 --n_head 2 --out_dir new
too_large "^seq2seq: $weights" \
  "$seq2seq" train --n_embd 1000000 --n_head 2 --out_dir new
[ ! -e new ] || fail 'a refused command left its folder'
# A batch that does not fit, which the training finds out.
truncate -s 1M zeros
ends 1 '^char_lm: allocate: the system has no block of [0-9]* bytes; [0-9]* are in use$\|^char_lm: train: too large for the memory$' "$char_lm" train --data zeros \
  --model aft --form simple --n_embd 2048 --n_layer 1 --block_size 8192 --batch_size 40 --eval_iters 1 --out_dir batch

[ "$failures" = 0 ]
