#!/bin/sh
# Watches what char_lm and seq2seq, the programs $1 and $2, draw on a terminal while they work: how far
# they are, and how long the rest will take. `script` makes the terminal.
script -qec true /dev/null > /dev/null 2>&1 || exit 77
seq2seq=$(realpath "$2")
. "$(dirname "$0")/char_lm_checks.sh"
export char_lm seq2seq

# shows LINE COMMAND: where standard error is a terminal, the command draws a line that matches the
# regular expression, and erases it at the end. Elsewhere standard error stays empty. Standard output
# has the same lines both times, but for the numbers, some of which are speeds.
shows() {
  echo "$2" > command
  script -qec 'sh command > printed' /dev/null > terminal < /dev/null
  erase=$(printf '\033[K')
  tr '\r' '\n' < terminal | sed "s/^$(printf '\033')\[K//" | grep -Eqx -- "$1" ||
    fail "no line '$1' for: $2: $(cat terminal)"
  [ "$(tail -c 3 terminal)" = "$erase" ] || fail "not erased: $2: $(cat terminal)"
  sh command > output 2> errors < /dev/null || fail "status $? of: $2"
  [ ! -s errors ] || fail "without a terminal: $2: $(cat errors)"
  for file in output printed; do sed 's/[0-9][0-9.:]*//g; s/  best$//' $file > $file.text; done
  cmp printed.text output.text || fail "other lines where a terminal shows progress: $2"
}

awk 'BEGIN { for (n = 0; n < 300; n++) print "line " n * n % 100 }' > text
awk 'BEGIN { for (n = 0; n < 300; n++) print n "\t" n * n }' > pairs.tsv
cut -f 1 pairs.tsv > sources
# Enough for more than the tenth of a second after which a line is drawn again.
awk 'BEGIN { for (n = 0; n < 500; n++) print n "\t" n * n }' > more.tsv
cut -f 1 more.tsv > more
small='--n_layer 1 --n_head 2 --n_embd 16 --batch_size 4 --warmup_iters 2 --log_interval 1
  --max_iters 4'
tiny="$small --block_size 8 --data text"
runs train $tiny --out_dir run
"$seq2seq" train $small --max_len 300 --data pairs.tsv --out_dir lines > output || fail "$(cat output)"

# A training draws on standard output, among its other lines.
script -qec "'$char_lm' train $(echo $tiny) --out_dir drawn" /dev/null > output
prints '\[####*\.*\] step [0-9]+/4  loss .* tokens/s  ETA [0-9]+:[0-9]{2}'

# Forty columns have no room for a bar, or for all of the line, but for the time that is left.
script -qec "stty cols 40; '$char_lm' train $(echo $tiny) --out_dir narrow" /dev/null > output
prints 'step [0-9]+/4  loss [0-9.]+  ETA 0:0'
grep -qF '[]' output && fail "a bar without columns: $(cat output)"

bar='\[#*\.*\]'
eta='ETA [0-9]+:[0-9]{2}'
characters="$bar [0-9]+/[0-9]+ characters  $eta"
shows "$characters" '"$char_lm" eval run'
shows "$characters" '"$char_lm" eval run --mode sliding'
shows "$characters" "\"\$char_lm\" compare $(echo $tiny) --overwrite --seeds 1 --length 9 labml"
shows 'reading the prompt, 5 characters' '"$char_lm" generate run --prompt "line " --length 3'
shows "$bar 0/15 sources" '"$seq2seq" eval lines'
many='--data more.tsv --batch_size 5 --beam 25'
shows "$bar [1-9][0-9]*/500 sources  $eta" "\"\$seq2seq\" eval lines $many"
shows '0 lines  0:00' '"$seq2seq" translate lines < sources'
shows '[1-9][0-9]* lines  [0-9]+:[0-9]{2}' \
  '"$seq2seq" translate lines --batch_size 5 --beam 25 < more'
for mode in exact blocks; do shows "$characters" "\"\$char_lm\" context run --mode $mode"; done
shows "$bar 0/2 runs" '"$char_lm" report run run'

[ "$failures" = 0 ]
