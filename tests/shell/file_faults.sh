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
  bounded "$char_lm" "$@" > output 2> errors || status=$?
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
  broken run/best.safetensors 9000 refuses "run/best.safetensors: $unread" generate run
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

  # A system that takes no byte and says that it did.
  TAKES_NOTHING=1 LD_PRELOAD=$failing_reads bounded "$char_lm" train $tiny --out_dir unwritten 2>&1 |
    cat > output
  grep -qF 'cannot be written: the system takes no byte more' output ||
    fail "a system that takes no byte: $(cat output)"
fi

# A file of the system that begins with nothing readable, and a folder.
refuses '/proc/self/mem: cannot be read: Input/output error' train $(without data $tiny) --data /proc/self/mem
refuses 'run: a folder, expected a file' train $(without data $tiny) --data run
as_seq2seq refuses 'run: a folder, expected a file' train $(without data $pairs) --data run
"$char_lm" generate run --prompt_file - < . > output 2> errors && fail 'a folder is no prompt'
grep -qF 'standard input: cannot be read: Is a directory' errors || fail "a folder: $(cat errors)"

# --- What cannot be printed is an error, whatever prints it.

# unprintable REDIRECTION ARGUMENT...: status 1 and one line where standard output is no good.
unprintable() {
  where=$1
  shift
  status=0
  case $where in
    full) bounded "$char_lm" "$@" > /dev/full 2> errors || status=$? ;;
    closed) bounded "$char_lm" "$@" >&- 2> errors || status=$? ;;
    # The reader of the pipe has gone; where it ignores that, and where it does not.
    pipe | broken)
      (
        [ $where = broken ] || trap '' PIPE
        mkfifo left
        : < left &
        exec 4> left
        wait $!
        rm left
        bounded "$char_lm" "$@" >&4 2> errors
      ) || status=$?
      ;;
  esac
  [ "$status" = 1 ] || fail "status $status of: $* with a standard output that is $where"
  [ "$(cat errors)" = "${char_lm##*/}: standard output: cannot be written" ] ||
    fail "$* with a standard output that is $where: $(cat errors)"
}

for where in full closed pipe; do
  [ $where != full ] || [ -c /dev/full ] || continue
  for command in 'eval run' 'inspect run' 'generate run' 'generate run --length 0' '--help' \
    'eval --help' "train $tiny --out_dir unprinted_$where" \
    "compare transformer labml $tiny --out_dir compared_$where --seeds 1 --length 1"; do
    unprintable $where $command
  done
  unprintable $where context run --tokens 9
  as_seq2seq unprintable $where eval lines
  as_seq2seq unprintable $where train $pairs --out_dir unprinted_lines_$where
  cut -f 1 pairs.tsv > sources
  as_seq2seq unprintable $where translate lines < sources
done
# What has files to write goes on, whether the signal of a pipe is ignored or not.
unprintable broken train $tiny --out_dir unprinted_broken
unprintable broken compare transformer labml $tiny --out_dir compared_broken --seeds 1 --length 1
unprintable broken context run --tokens 9
as_seq2seq unprintable broken train $pairs --out_dir unprinted_lines_broken
# What was to be written is whole all the same, and no file was taken for the closed output.
for where in closed pipe broken; do
  runs eval unprinted_$where
  as_seq2seq runs eval unprinted_lines_$where
done
runs eval run --losses losses >&- && [ "$(grep -vc '^[0-9.]*$' losses)" = 0 ] || fail 'losses'

# --- A pipe in the place of a file.

# Where a text is read, what comes through it.
mkfifo pipe
cat text > pipe &
runs train $(without data $tiny) --data pipe --out_dir piped
wait $!
cat text | runs train $(without data $tiny) --data /dev/stdin --out_dir piped_in
for run in piped piped_in; do
  for part in best last; do
    "$char_lm" inspect $run --checkpoint $part | sed '1d; /^  data /d; /out_dir/d' > $run.$part
    "$char_lm" inspect run --checkpoint $part | sed '1d; /^  data /d; /out_dir/d' |
      cmp - $run.$part || fail "$run is not the run of a file"
  done
done
cat pairs.tsv > pipe &
as_seq2seq runs eval lines --data pipe
wait $!
echo line > pipe &
runs generate run --prompt_file pipe --length 2
wait $!

# Where a file is kept, it is refused without waiting for its other end.
cp -r run waiting
for file in best.safetensors last.safetensors metrics.jsonl; do
  rm waiting/$file
  mkfifo waiting/$file
done
whole_char_lm=$char_lm
printf '#!/bin/sh\nulimit -t 120\nexec "%s" "$@"\n' "$char_lm" > limited
chmod +x limited
char_lm=$place/limited
no_file='is not a regular file'
for command in eval inspect generate context; do
  refuses "waiting/best.safetensors: $no_file" $command waiting
done
refuses "waiting/metrics.jsonl: $no_file" plot waiting
refuses "waiting/last.safetensors: $no_file" train --resume --out_dir waiting
cp run/last.safetensors waiting/new
mv waiting/new waiting/last.safetensors
fails "waiting/metrics.jsonl: $no_file" train --resume --out_dir waiting
char_lm=$whole_char_lm

# --- Marks and lines that are longer than any.

# The byte order mark before a text is no letter of it.
bom=$(printf '\357\273\277')
for file in text pairs.tsv; do (printf %s "$bom"; cat $file) > marked_$file; done
for units in bytes characters; do
  runs train $tiny --vocab $units --out_dir plain_$units
  runs train $(without data $tiny) --vocab $units --data marked_text --val_data marked_text --out_dir both_$units
  runs train $(without data $tiny) --vocab $units --data marked_text --out_dir marked_$units
  for run in plain_$units marked_$units; do
    "$char_lm" inspect $run | sed '1d; /^  data /d; /out_dir/d' > $run.shown
  done
  cmp plain_$units.shown marked_$units.shown || fail "a byte order mark among the $units"
done
(printf %s "$bom"; printf line) > marked_prompt
runs generate run --prompt_file marked_prompt --length 0
[ "$(cat output)" = line ] || fail "the prompt with a mark: $(cat output)"
"$char_lm" generate run --prompt_file - --length 0 < marked_prompt > output 2>&1
[ "$(cat output)" = line ] || fail "the prompt with a mark from standard input: $(cat output)"
(printf %s "$bom"; echo '{"n_layer": 1}') > marked.json
runs train $tiny --config marked.json --out_dir configured
as_seq2seq runs train $(without data $pairs) --data marked_pairs.tsv --out_dir marked_lines
for run in lines marked_lines; do
  "$seq2seq" eval $run --data pairs.tsv --predictions $run.predictions > output 2>&1 ||
    fail "eval of $run: $(cat output)"
done
cmp lines.predictions marked_lines.predictions || fail 'a byte order mark among the pairs'
as_seq2seq runs eval lines --data marked_pairs.tsv
(printf %s "$bom"; head -n 3 pairs.tsv | cut -f 1) | as_seq2seq runs translate lines

# A line as long as a disk is refused when it was read.
status=0
head -c 50000000 /dev/zero | tr '\0' 1 > long
(cat long; echo) | bounded "$seq2seq" translate lines > output 2> errors || status=$?
[ "$status" = 1 ] || fail "status $status for a long line"
grep -qF 'standard input: line 1: 50000000 tokens, but the model takes at most 20' errors ||
  fail "a long line: $(cat errors)"
(cat long; printf '\t1\n') > long.tsv
as_seq2seq refuses 'long.tsv: line 1: ' eval lines --data long.tsv

[ "$failures" = 0 ]
