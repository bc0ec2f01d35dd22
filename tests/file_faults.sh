#!/bin/sh
# Gives char_lm, the program $1, and seq2seq, $2, files that cannot be read or written and that are
# none. $3 is failing_reads, a library that lets reads fail; what needs it is left out without.
seq2seq=$(realpath "$2")
failing_reads=${3:+$(realpath "$3")}
. "$(dirname "$0")/char_lm_checks.sh"

# as_seq2seq COMMAND...: the command, such as refuses, with that program.
as_seq2seq() {
  own=$char_lm
  char_lm=$seq2seq
  "$@"
  char_lm=$own
}

# fails TEXT ARGUMENT...: status 1, one line on standard error that contains the text, and all files
# as they were.
fails() {
  expected=$1
  shift
  before=$(all_files)
  status=0
  timeout 60 "$char_lm" "$@" > output 2> errors || status=$?
  [ "$status" = 1 ] || fail "status $status of: $*"
  [ "$(wc -l < errors)" = 1 ] || fail "not one line for: $*: $(cat errors)"
  grep -qF -- "$expected" errors || fail "no '$expected' in: $(cat errors)"
  [ "$(all_files)" = "$before" ] || fail "a file changed by: $*"
}

awk 'BEGIN { for (n = 0; n < 2000; n++) print "line " n * n % 100 }' > text
awk 'BEGIN { for (n = 0; n < 300; n++) print n "\t" n * n }' > pairs.tsv
small='--n_layer 1 --n_head 2 --n_embd 16 --batch_size 4 --warmup_iters 2 --log_interval 1
  --max_iters 4'
tiny="$small --block_size 8 --data text"
pairs="$small --max_len 20 --data pairs.tsv"
runs train $tiny --out_dir run
as_seq2seq runs train $pairs --out_dir lines

# --- What cannot be read is not the end of a file.

# broken FILE BYTE COMMAND...: the command where reads of the file fail from there on.
broken() {
  export FAILING_FILE="$1" FAILING_AFTER="$2"
  shift 2
  # Only the program itself is to read so.
  whole=$char_lm
  printf '#!/bin/sh\nLD_PRELOAD="%s" exec "%s" "$@"\n' "$failing_reads" "$whole" > "$place/preloaded"
  chmod +x "$place/preloaded"
  char_lm=$place/preloaded
  "$@"
  char_lm=$whole
  unset FAILING_FILE FAILING_AFTER
}

if [ -n "$failing_reads" ]; then
  unread='cannot be read: Input/output error'
  echo '{"n_layer": 1}' > config.json
  head -n 1000 text > other
  broken text 9000 refuses "text: $unread" train $tiny --out_dir new
  broken text 0 refuses "text: $unread" train $tiny --out_dir new
  broken other 5000 refuses "other: $unread" train $tiny --val_data other --out_dir new
  broken config.json 9 refuses "config.json: $unread" train --config config.json --out_dir new
  broken text 9000 refuses "text: $unread" compare transformer $tiny --out_dir new
  [ ! -e new ] || fail 'a run was begun on part of a text'
  broken text 12000 refuses "text: $unread" eval run
  broken text 12000 refuses "text: $unread" context run
  broken text 12000 refuses "text: $unread" train --resume --out_dir run
  broken other 5 refuses "other: $unread" generate run --prompt_file other
  broken run/best.safetensors 1000 refuses "run/best.safetensors: $unread" eval run
  broken run/best.safetensors 5 refuses "run/best.safetensors: $unread" inspect run
  broken run/metrics.jsonl 100 refuses "run/metrics.jsonl: $unread" plot run
  for byte in 0 100; do
    broken run/metrics.jsonl $byte fails "run/metrics.jsonl: $unread" train --resume --out_dir run \
      --max_iters 6
  done

  as_seq2seq broken pairs.tsv 1500 refuses "pairs.tsv: $unread" eval lines
  for input in text pairs.tsv; do
    status=0
    FAILING_FILE=$input FAILING_AFTER=70 LD_PRELOAD=$failing_reads "$char_lm" generate run \
      --prompt_file - < $input > output 2> errors || status=$?
    [ "$status" = 2 ] || fail "status $status where standard input cannot be read"
    grep -qF "standard input: $unread" errors || fail "standard input: $(cat errors)"
  done
  FAILING_FILE=pairs.tsv FAILING_AFTER=0 LD_PRELOAD=$failing_reads "$seq2seq" translate lines \
    < pairs.tsv > output 2> errors && fail 'standard input that cannot be read is translated'
  grep -qF 'standard input: ' errors || fail "standard input: $(cat errors)"
fi

# A file of the system that begins with nothing readable, and a folder.
refuses '/proc/self/mem: cannot be read: Input/output error' train $tiny --data /proc/self/mem
refuses 'run: a folder, expected a file' train $tiny --data run
as_seq2seq refuses 'run: a folder, expected a file' train $pairs --data run
"$char_lm" generate run --prompt_file - < . > output 2> errors && fail 'a folder is no prompt'
grep -qF 'standard input: cannot be read: Is a directory' errors || fail "a folder: $(cat errors)"

[ "$failures" = 0 ]
