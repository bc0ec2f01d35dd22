#!/bin/sh
# Watches what char_lm, the program $1, sends to a terminal when names, texts and files have commands to it
# or characters that turn the text around. `script` makes the terminal.
script -qec true /dev/null > /dev/null 2>&1 || exit 77
. "$(dirname "$0")/char_lm_checks.sh"
export char_lm

# The command that clears a screen, the character that turns a text around, and a letter of two bytes.
printf '\033[2J \342\200\256 \303\251\tb\n%.0s' $(seq 100) > text
tiny='--n_layer 1 --n_head 2 --n_embd 16 --block_size 8 --batch_size 4 --max_iters 4 --warmup_iters 2
  --eval_interval 4'
runs train $tiny --data text --out_dir bytes
runs train $tiny --data text --vocab characters --out_dir characters

# is_quiet FILE: but for the ends of lines, it has neither controls nor what turns a text.
is_quiet() {
  tr -d '\n\r\t' < "$1" | LC_ALL=C grep -q '[[:cntrl:]]' && fail "a control character: $(cat -v "$1")"
  LC_ALL=C grep -q "$(printf '\342\200\256')" "$1" && fail "U+202E: $(cat -v "$1")"
}
# on_terminal COMMAND: what a terminal gets of it.
on_terminal() {
  echo "$1" > command
  script -qec 'sh command 2> errors' /dev/null < /dev/null > seen
}

# A generated text is shown escaped on a terminal, and goes through a pipe as it is.
printf 'b\n\033[2J \342\200\256 \303\251' > prompt
for run in bytes characters; do
  on_terminal "'$char_lm' generate $run --prompt_file prompt --length 0"
  is_quiet seen
  tr -d '\r' < seen > lines
  printf 'b\n\\x1B[2J \\xE2\\x80\\xAE \303\251\n' | cmp - lines || fail "generate $run: $(cat -v lines)"
  runs generate $run --prompt_file prompt --length 0
  { cat prompt; echo; } | cmp - output || fail "through a pipe: $(cat -v output)"
  on_terminal "'$char_lm' generate $run --prompt_file prompt --length 200 --temperature 4"
  is_quiet seen
done

# Names of files and of runs.
name=$(printf 'x\342\200\256\033[2J')
cp -r bytes "$name"
for command in inspect eval; do
  on_terminal "'$char_lm' $command '$name'"
  is_quiet seen
done
"$char_lm" eval "missing$name" 2> seen
is_quiet seen
"$char_lm" generate bytes --prompt "$(printf '\342\200\257')" 2> seen
is_quiet seen
"$char_lm" generate characters --prompt "$(printf '\342\200\217')" 2> seen
is_quiet seen
grep -q 'U+200F, number 1$' seen || fail "an unknown character: $(cat -v seen)"

# A page about the run.
runs report bytes characters "$name" --prompt "$(cat prompt)" --tokens 20
is_quiet report.html
grep -qF '\\xE2\\x80\\xAE' report.html || fail 'the report lacks the character'

[ "$failures" = 0 ]
