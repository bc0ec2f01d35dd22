#!/bin/sh
# Runs what char_lm and seq2seq, the programs $1 and $2, print as next commands, literally, after trainings on
# texts of eight kinds. The folders of the programs and of the runs have names that a shell would read otherwise.
seq2seq=$(realpath "$2")
. "$(dirname "$0")/char_lm_checks.sh"
mkdir 'my programs'
ln -s "$char_lm" "$seq2seq" 'my programs'
char_lm=$place/'my programs'/char_lm

# next_commands FOLDER: runs each, and finds what the last of them wrote.
next_commands() {
  sed -n 's/^next: //p; s/^      //p' output > commands
  [ "$(wc -l < commands)" = 3 ] || fail "not three commands for $1: $(cat output)"
  while IFS= read -r command; do
    sh -c "$command" > said 2> errors || fail "status $? of: $command: $(cat errors)"
    [ ! -s errors ] || fail "errors of: $command: $(cat errors)"
    [ -s said ] || fail "nothing from: $command"
  done < commands
  [ -s "$1/report.html" ] || fail "no report in $1: $(cat commands)"
}

small='--n_layer 1 --n_head 2 --n_embd 8 --batch_size 2 --warmup_iters 1 --max_iters 2 --eval_interval 2'
tiny="$small --block_size 4"
lines() { awk 'BEGIN { for (n = 0; n < 40; n++) print "line " n * n % 100 }'; }
# kind NAME: a text of this kind.
kind() {
  case $1 in
    dna) awk 'BEGIN { for (n = 0; n < 400; n++) printf "%s", substr("ACGT", n * n % 7 % 4 + 1, 1) }' ;;
    one_line) lines | tr '\n' ' ' ;;
    cr) lines | tr '\n' '\r' ;;
    crlf) lines | sed 's/$/\r/' ;;
    utf16) lines | tr '\n' ' ' | iconv -t UTF-16LE ;;
    binary) LC_ALL=C awk 'BEGIN { for (n = 0; n < 600; n++) printf "%c", n * n % 251 }' | tr -d '\n' ;;
    empty_lines) yes '' | head -n 400 ;;
    unicode) awk 'BEGIN { for (n = 0; n < 60; n++) printf "Grüße, 10 €, 😀 " n % 7 }' ;;
  esac
}
byte=$(printf 'r\351n')
while read -r kind flags; do
  kind "$kind" > text
  case $kind in
    dna) folder='my run' ;;
    one_line) folder="it's" ;;
    cr) folder='$HOME `id`' ;;
    crlf) folder='-x' ;;
    utf16) folder='a "b"' ;;
    binary) folder=$byte ;;
    empty_lines) folder=$(printf 'esc\033[1m') ;;
    unicode) folder='Grüße *' ;;
  esac
  # shellcheck disable=SC2086
  runs train $tiny --data text $flags "--out_dir=$folder"
  next_commands "$folder"
done << END
dna
one_line
cr
crlf
utf16
binary
empty_lines
unicode
unicode --vocab characters --overwrite
dna --model transformer --overwrite
END

# --- A run that a signal has stopped says how it goes on; and the default prompt holds for the model at hand.

kind dna > text
runs generate 'my run' --length 4 --temperature 0
head -c 1 output | grep -q '^A$' || fail "the first character: $(cat output)"
runs generate ./-x --length 4 --temperature 0
[ "$(head -n 1 output)" = '' ] || fail "a newline: $(cat output)"
is_refused "--prompt: the model does not know 2 characters: U+000A, 'x'; the first is number 1" \
  generate 'my run' --prompt "$(printf '\nx')"
runs generate --help
prints '\(default: a newline, or the first character of a model that knows none\)'

# --- The same for pairs.

awk 'BEGIN { for (n = 0; n < 60; n++) print n "\t" n * n }' > pairs.tsv
printf '12\n7\n' > sources.txt
char_lm=$place/'my programs'/seq2seq
for folder in 'my pairs' "-it's" "$byte pairs"; do
  runs train $small --max_len 20 --data pairs.tsv "--out_dir=$folder"
  next_commands "$folder"
done

[ "$failures" = 0 ]
