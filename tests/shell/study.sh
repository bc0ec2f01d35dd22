#!/bin/sh
# Asks the program $1, examples/book/study, what a page asks: a training goes on from request to request,
# equal requests give equal answers, and what is wrong with a request is said.
set -eu
study=$1

# refused REQUEST ERROR: both without the quotes around strings.
refused() {
  answer=$(printf '%s\n' "$1" | "$study" | sed 's/\\"/`/g')
  [ "$answer" = "{\"error\":\"$2\"}" ] || { echo "$1 gives $answer, expected $2"; exit 1; }
}
refused 'tell me' 'request: not JSON: a mistake at byte 2'
refused '{}' '`do` is missing'
refused '{"do": 1}' '`do` is 1, expected another type'
refused '{"do": "train", "steps": 1}' 'train: no training has begun'

mixer='{"type": "transformer_xl_attention"}'
model='{"d_model": 8, "n_head": 2, "n_layer": 2, "d_inner": 16, "mixer": '$mixer'}'
training='{"batch_size": 2, "block_size": 4, "mem_len": 4, "learning_rate": 0.01, "warmup_iters": 0}'
text='abcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabc'
begin='{"do": "begin", "text": "'$text'", "model": '$model', "training": '$training'}'
refused '{"do": "begin", "text": "ab"}' '`training` is missing'
refused '{"do": "begin", "text": "ab", "model": {}, "training": {"stepps": 1}}' 'training: unknown key stepps'
refused '{"do": "begin", "text": "ab", "model": {}, "training": []}' '`training` is not an object'
refused '{"do": "begin", "text": "ab", "model": [], "training": {}}' '`model` is not an object'
refused '{"do": "begin", "text": "ab", "model": {}, "training": {"schedule": "x"}}' \
  '`x`, expected constant, linear, cosine, inverse_sqrt or noam'

# case_of TENSOR: of scores that are so given.
case_of() {
  echo '{"do": "run_layer", "layer": "rel_shift", "config": {}, "tensors": {"input.x": '"$1"', "grad_output": '"$1"'}}'
}
refused '{"do": "run_layer", "layer": "nope", "config": {}, "tensors": {}}' 'unknown layer `nope`'
refused "$(case_of '{"shape": [1, 2, 2], "values": [1, 2]}')" '`values` has 2 values for a shape of [1, 2, 2]'
refused "$(case_of '{"shape": [1], "values": [1], "dtype": "Q"}')" '`dtype` is `Q`, expected F32, I64 or BOOL'
refused "$(case_of '{"shape": [1], "values": [1], "dtype": "U8"}')" '`dtype` is U8, expected F32, I64 or BOOL'
# A zero before each row, all in one line, without the first two: 2, 0, 3 and 4.
shifted=$(case_of '{"shape": [2, 2], "values": [1, 2, 3, 4]}' | "$study")
[ "$shifted" = '{"tensors":{"grad.input.x":{"shape":[2,2],"values":[0.0,1.0,3.0,4.0]},"output":{"shape":[2,2],"values":[2.0,0.0,3.0,4.0]}}}' ] ||
  { echo "shifted: $shifted"; exit 1; }

ask() {
  printf '%s\n' "$@" | "$study"
}
attention='{"do": "attention", "text": "abca"}'
write='{"do": "write", "prompt": "ab", "length": 6, "temperature": 0}'
all=$(ask "$begin" '{"do": "train", "steps": 60}' "$write" "$attention" '{"do": "dance"}')
[ "$all" = "$(ask "$begin" '{"do": "train", "steps": 60}' "$write" "$attention" '{"do": "dance"}')" ] ||
  { echo 'equal requests have unequal answers'; exit 1; }
[ "$(echo "$all" | sed -n 3p)" = '{"text":"cabcab"}' ] || { echo "written: $all"; exit 1; }
echo "$all" | sed -n 5p | grep -q 'expected begin, train, write, attention or run_layer' || exit 1
# Two layers of two heads, with a weight for each of 4 x 4 pairs.
echo "$all" | sed -n 4p | grep -o '"title":"head [01]","weights":\[[^]]*\]' | awk -F, '{ print NF }' |
  tr '\n' ' ' | grep -qx '17 17 17 17 ' || { echo "attention: $all"; exit 1; }
# Thirty steps and thirty more are sixty.
last_loss() {
  grep losses | tail -n 1 | sed 's/.*[[,]\([0-9.e-]*\)\],.*/\1/'
}
parts=$(ask "$begin" '{"do": "train", "steps": 30}' '{"do": "train", "steps": 30}' | last_loss)
[ "$parts" = "$(echo "$all" | last_loss)" ] || { echo "after 30 and 30 steps: $parts"; exit 1; }
