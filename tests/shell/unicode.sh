#!/bin/sh
# Trains char_lm, the program $1, on text that is not in ASCII, as bytes and as characters.
. "$(dirname "$0")/char_lm_checks.sh"

# is_utf8 FILE: it is made of whole characters.
is_utf8() {
  iconv -f UTF-8 -t UTF-32 "$1" > /dev/null 2>&1 || fail "not UTF-8: $1"
}

awk 'BEGIN { for (n = 0; n < 200; n++) print "Grüße, 10 €, 😀 " n % 7 }' > text
tiny="--n_layer 1 --n_head 2 --n_embd 16 --block_size 8 --batch_size 4 --max_iters 4
  --eval_interval 4"
runs train $tiny --data text --out_dir bytes
runs train $tiny --data text --out_dir characters --vocab characters

# --- A token is a byte or a character, and so is what is counted.
# count_of FILE: its characters.
count_of() { iconv -f UTF-8 -t UTF-32LE "$1" | wc -c | awk '{ print $1 / 4 }'; }
characters=$(count_of text)
runs eval bytes --eval_split 1
prints "^$(($(wc -c < text) - 1)) tokens$"
grep -q 'bits per byte' output && fail 'bits per byte beside those of bytes'
runs eval characters --eval_split 1
prints "^$((characters - 1)) tokens$"
awk -v bytes="$(($(wc -c < text) - 1))" '
  / bits per character/ { bits = $1 } / bits per byte/ { per_byte = $1 } / tokens$/ { tokens = $1 }
  END { error = bits * tokens / bytes - per_byte; exit !(error * error < 1e-6) }' output ||
  fail "bits per byte: $(cat output)"
runs eval characters --eval_split 1 --losses losses
[ "$(wc -l < losses)" = $((characters - 1)) ] || fail "$(wc -l < losses) losses"
runs inspect bytes
prints '^vocabulary +[0-9]+ bytes$'
runs inspect characters
prints '^vocabulary +[0-9]+ characters$'

# --- What is written is whole characters.
runs generate characters --prompt 'Grüße €' --length 200 --temperature 2
is_utf8 output
[ "$(count_of output)" = $((7 + 200 + 1)) ] || fail "not 200 characters: $(cat output)"
runs generate characters --prompt 'G' --length 500 --stop '€' --temperature 2
tail -c 4 output | grep -q '^€$' || fail "not at its stop: $(cat output)"
runs generate bytes --prompt 'Grüße €' --length 60 --temperature 0
[ "$(wc -c < output)" = $((11 + 60 + 1)) ] || fail "not 60 bytes: $(cat output)"

# A model that knows its text by heart writes its characters, byte by byte.
runs train --data text --n_layer 2 --n_head 2 --n_embd 32 --block_size 32 --batch_size 8 \
  --max_iters 400 --learning_rate 1e-2 --eval_interval 400 --out_dir learnt
runs generate learnt --checkpoint last --prompt '10 ' --length 200 --temperature 0
head -c 15 output | grep -q '^10 €, 😀 ' || fail "not learnt: $(cat output)"

# --- What is unknown or no character is named.
is_refused "--prompt: the model does not know the character U+00E9 'é', number 2" \
  generate characters --prompt 'üé'
is_refused "--prompt: the model does not know the character U+00E9 'é', number 3" \
  generate bytes --prompt 'Gé'
printf 'Gr\374\337e' > latin
is_refused 'latin: not UTF-8: 0xFC at offset 2; a vocabulary of bytes takes any text' \
  train $tiny --data latin --vocab characters --out_dir none
is_refused 'latin: not UTF-8: 0xFC at offset 2' train $tiny --data text --val_data latin \
  --vocab characters --out_dir none
is_refused 'latin: not UTF-8: 0xFC at offset 2' generate characters --prompt_file latin
[ ! -e none ] || fail 'a folder for what was refused'
is_refused '--vocab words, expected bytes, all_bytes or characters' train $tiny --data text --vocab words

# --- The vocabulary stays a run's own.
runs train --resume --out_dir characters --max_iters 6
runs train --init_from characters/last.safetensors --data text --max_iters 2 --batch_size 4 \
  --out_dir tuned
runs inspect tuned
prints '^vocabulary +[0-9]+ characters$'
is_refused '--vocab "bytes": must stay "characters", as in characters/last.safetensors' \
  train --init_from characters/last.safetensors --data text --vocab bytes --out_dir tuned
# A checkpoint from before there was a choice has bytes.
LC_ALL=C sed 's/\\"vocab\\":\\"bytes\\",/                    /' bytes/best.safetensors > older
cmp -s older bytes/best.safetensors && fail 'no vocab among the flags'
mkdir old
mv older old/best.safetensors
runs generate old --prompt 'Grüße' --length 5 --temperature 0
mv output first
runs generate bytes --prompt 'Grüße' --length 5 --temperature 0
cmp -s output first || fail 'an older checkpoint writes otherwise'

[ "$failures" = 0 ]
