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
  '`schedule` is `x`, expected constant, linear, cosine, inverse_sqrt or noam'

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

# What is drawn has the values that were asked for, and what cannot be drawn is refused.
refused '{"do": "draw"}' '`map` is missing'
refused '{"do": "draw", "chart": {}}' '`curves` is missing'
refused '{"do": "draw", "chart": {"curves": [{"name": "a", "xs": [1], "ys": []}]}}' \
  '`ys` has 0 values, expected 1, as `xs` has'
refused '{"do": "draw", "map": {"values": [[1], [1, 2]]}}' '`values` has rows of 1 and of 2 values'
refused '{"do": "draw", "map": {"values": [["x"]]}}' '`values` has `x`, expected numbers and null'
refused '{"do": "draw", "map": {"values": [[1]], "row_names": ["a", "b"]}}' '`row_names` has 2 names, expected 1'
# draws REQUEST TEXT
draws() {
  drawing=$(printf '%s\n' "$1" | "$study" | sed 's/\\"/"/g')
  case $drawing in *"$2"*) ;; *) echo "$1 draws $drawing, expected $2"; exit 1 ;; esac
}
draws '{"do": "draw", "chart": {"curves": [{"name": "a", "xs": [1, 2, 3], "ys": [2, null, 4]}]}}' \
  'data-name="a" d="M0 954.5M1000 45.5"'
draws '{"do": "draw", "map": {"values": [[1, null], [-0.25, 0]]}}' '<path stroke="#ef9d3c" data-share="-0.5" d="M0 1h1"/>'

# views_of TENSOR STEPS: of a tensor, by operations. The gradient of each result is asked for.
views_of() {
  echo '{"do": "views", "tensor": '"$1"', "steps": ['"$2"'],
    "grad_output": {"shape": [2, 2], "values": [1, 2, 3, 4]}}' | tr '\n' ' '
}
pair='{"shape": [2], "values": [5, 6]}'
square='{"shape": [2, 2], "values": [5, 6, 7, 8]}'
refused "$(views_of "$pair" '"slice"')" 'a step is `slice`, expected [NAME, ARGUMENT, …]'
refused "$(views_of "$pair" '["flip"]')" 'unknown step `flip`'
refused "$(views_of "$pair" '["reverse"]')" 'reverse: argument 1 is missing'
refused "$(views_of "$pair" '["reverse", []]')" 'reverse: argument 1 is [], expected another type'
refused "$(views_of "$pair" '["reverse", 1]')" 'flip: axis 1 of a tensor with 1 axes'
refused "$(views_of "$pair" '["expand", [60000, 2]]')" 'expand: [60000, 2] has more than 100000 elements'
refused "$(views_of "$pair" '')" 'backward: a cotangent of shape [2, 2] for an output of shape [2]'

# viewed NAME EXPECTED: what the last result has under a name.
viewed() {
  value=$(echo "$view" | sed 's/.*"'"$1"'":\(\[[^]]*\]\|[0-9]*\).*/\1/')
  [ "$value" = "$2" ] || { echo "$1 is $value, expected $2: $view"; exit 1; }
}
# Two rows of one pair, read backwards: a pair is stored, and its gradient sums over the rows.
view=$(views_of "$pair" '["expand", [2, 2]], ["reverse", 1]' | "$study")
viewed strides '[0,-1]'
viewed offset 1
viewed storage 0
viewed recorded 0
viewed values '[6.0,5.0,6.0,5.0]'
echo "$view" | grep -qF '{"views":[{"gradient":[6.0,4.0],' || { echo "$view"; exit 1; }
# The shift reads on in the padded storage, from its third element: the last of the first row, the zero of
# the second. Only the padding copies.
view=$(views_of "$square" '["pad_left"], ["rel_shift_view"]' | "$study")
viewed strides '[2,1]'
viewed offset 2
viewed storage 1
viewed recorded 1
viewed positions '[2.0,3.0,4.0,5.0]'
viewed values '[6.0,0.0,7.0,8.0]'
viewed gradient '[1.0,2.0,3.0,4.0]'
echo "$view" | grep -qF '{"views":[{"gradient":[0.0,1.0,3.0,4.0],' || { echo "$view"; exit 1; }

ask() {
  printf '%s\n' "$@" | "$study"
}
attention='{"do": "attention", "text": "abca"}'
write='{"do": "write", "prompt": "ab", "length": 6, "temperature": 0}'
all=$(ask "$begin" '{"do": "train", "steps": 60}' "$write" "$attention" '{"do": "dance"}')
[ "$all" = "$(ask "$begin" '{"do": "train", "steps": 60}' "$write" "$attention" '{"do": "dance"}')" ] ||
  { echo 'equal requests have unequal answers'; exit 1; }
[ "$(echo "$all" | sed -n 3p)" = '{"text":"cabcab"}' ] || { echo "written: $all"; exit 1; }
echo "$all" | sed -n 5p | grep -q 'expected one of begin, open, train_pairs, beam_search, attended, attention, distances, fill_in, inside, learn' || exit 1
# Two layers of two heads, with a weight for each of 4 x 4 pairs.
echo "$all" | sed -n 4p | grep -o '"title":"head [01]","weights":\[[^]]*\]' | awk -F, '{ print NF }' |
  tr '\n' ' ' | grep -qx '17 17 17 17 ' || { echo "attention: $all"; exit 1; }
# Thirty steps and thirty more are sixty.
last_loss() {
  grep '"losses":' | tail -n 1 | sed 's/.*[[,]\([0-9.e-]*\)\],.*/\1/'
}
parts=$(ask "$begin" '{"do": "train", "steps": 30}' '{"do": "train", "steps": 30}' | last_loss)
[ "$parts" = "$(echo "$all" | last_loss)" ] || { echo "after 30 and 30 steps: $parts"; exit 1; }

# What the trained model scores, and what it does without terms of its score.
# After an a comes an a or a b, which attention alone can tell.
pairs=$(echo "$begin" | sed 's/"text": "[abc]*"/"text": "'$(printf 'aab%.0s' $(seq 40))'"/')
score='{"do": "score", "text": "aabaabaabaab", "without": '
answers=$(ask "$pairs" '{"do": "train", "steps": 200}' '{"do": "score", "text": "aabaabaabaab"}' "$score[]}" \
  "$score[\"content_content\", \"content_position\", \"content_bias\", \"position_bias\"]}" \
  "$score[\"positions\"]}" '{"do": "terms", "text": "aaba", "without": ["position_bias"]}' \
  '{"do": "distances", "most": 3}')
line() { echo "$answers" | sed -n "$1p"; }
nats() { line "$1" | sed 's/.*"nats":\([0-9.e-]*\).*/\1/'; }
[ "$(line 3)" = "$(line 4)" ] || { echo "score: $(line 3), without nothing $(line 4)"; exit 1; }
echo "$(nats 3) $(nats 5)" | awk '{ exit !($1 < 0.2 && $2 > $1 + 0.2) }' || { echo "nats: $answers"; exit 1; }
line 6 | grep -q 'has \\"positions\\", expected some of content_content, content_position, content_bias' || exit 1
[ "$(line 7 | grep -o '"name":"[a-z_]*"' | sort | uniq -c | tr -s ' \n' ' ')" = \
  ' 2 "name":"content_bias" 2 "name":"content_content" 2 "name":"content_position" 2 "name":"position_bias" ' ] ||
  { echo "terms: $(line 7)"; exit 1; }
[ "$(line 8 | grep -o '"title":"[^"]*"' | sort -u | tr '\n' ' ')" = '"title":"bias v·r / √D" "title":"norm of r" ' ] ||
  { echo "distances: $(line 8)"; exit 1; }

# exhibit FORM MISTAKE: the losses in one pass and in order of a training with this mistake.
coins=$(awk 'BEGIN { n = 7; for (i = 0; i < 300; ++i) { n = n * 16807 % 2147483647; printf n % 2 ? "a" : "b" } }')
exhibit() {
  ask '{"do": "begin", "text": "'$coins'", "exhibit": {"form": "'"$1"'", "mistake": "'"$2"'"}, "training": '"${training%,*mem_len*}"', "learning_rate": 0.01, "warmup_iters": 0}, "model": {"d_model": 8, "n_head": 2, "n_layer": 2, "d_inner": 16}}' \
    '{"do": "train", "steps": 100}' '{"do": "score_in_order", "text": "'$coins'", "blocks": 8}' |
    sed -n '3s/.*"in_one_pass":\([0-9.e-]*\),"in_order":\([0-9.e-]*\).*/\1 \2/p'
}
form=$(ask '{"do": "exhibits"}' | sed -n 's/.*"form":"\([^"]*\)","mistake":"no mask".*/\1/p')
exhibit "$form" 'as it should be' | awk '{ d = $1 - $2; exit !(NF == 2 && d < 1e-4 && d > -1e-4) }' ||
  { echo "exhibit: $(exhibit "$form" 'as it should be')"; exit 1; }
exhibit "$form" 'no mask' | awk '{ exit !(NF == 2 && $2 > $1 + 0.01) }' || { echo "exhibit: $(exhibit "$form" 'no mask')"; exit 1; }
refused '{"do": "begin", "text": "ab", "model": {}, "training": {}, "exhibit": {"form": "labml", "mistake": "none"}}' \
  '`exhibit` is `labml` with `none`, expected one that exhibits lists'
ask '{"do": "exhibits"}' | grep -q '{"form":"AFT full","mistake":"a maximum over the future"}' || exit 1

# A form that sees both ways has one loss, and fills in what is left blank, here letters that are told by their place.
two_way='{"do": "begin", "text": "'$text'", "exhibit": {"form": "Music, two-way", "mistake": "as it should be"}, "training": {"batch_size": 16, "block_size": 16, "learning_rate": 0.02, "warmup_iters": 0}, "model": {"d_model": 16, "n_head": 2, "n_layer": 1, "d_inner": 32}}'
answers=$(ask "$two_way" '{"do": "train", "steps": 300}' '{"do": "score_in_order", "text": "'$text'", "blocks": 4}' '{"do": "fill_in", "text": "abcabcabcabcabca"}')
line 3 | grep -qx '{"in_one_pass":0.0[0-9]*}' || { echo "blanks: $(line 3)"; exit 1; }
line 4 | grep -qx '{"blanked":"[abc]*□[abc□]*","filled":"abcabcabcabcabca"}' || { echo "fill_in: $(line 4)"; exit 1; }
[ "$(ask "$begin" '{"do": "fill_in", "text": "ab"}' | sed -n 2p)" = \
  '{"error":"fill_in: the model was not trained to fill in blanks"}' ] || { echo 'fill_in without blanks'; exit 1; }

[ "$(ask "$two_way" '{"do": "fill_in", "text": "'$text'"}' | sed -n 2p)" = \
  '{"error":"fill_in: 90 characters, expected at most 16"}' ] || { echo 'fill_in of too much'; exit 1; }
refused '{"do": "begin", "text": "abc", "model": {"d_model": 4, "n_layer": 1, "n_head": 1, "d_inner": 4}, "training": {"batch_size": 0}, "exhibit": {"form": "'"$form"'", "mistake": "no mask"}}' \
  'trainer: batch_size 0, expected at least 1'

# An encoder and a decoder, which learn to turn words round.
pairs='"pairs": [["ab", "ba"], ["abc", "cba"], ["cb", "bc"]], "model": {"d_model": 16, "n_encoder_layer": 1, "n_decoder_layer": 1, "n_head": 2, "d_inner": 32, "encoder_mixer": '$mixer', "decoder_mixer": '$mixer'}'
ask '{"do": "train_pairs", '"$pairs"', "steps": 100, "training": {"batch_size": 3, "learning_rate": 0.01, "warmup_iters": 0, "label_smoothing": 0}}' |
  sed 's/.*,\([0-9.e-]*\)\],"parameters.*/\1/' | awk '{ exit !(NF == 1 && $1 < 0.1) }' || { echo 'pairs are not learned'; exit 1; }
refused '{"do": "train_pairs", "pairs": [["a"]]}' '`pairs` is [[`a`]], expected another type'
refused '{"do": "train_pairs", "steps": 1, '"$pairs"', "training": {"block_size": 3}}' 'training: unknown key block_size'

# What a model computes inside, what a text costs in pieces, and how a beam goes on.
python3 "$(dirname "$0")/../examples/book/requests.py" "$study"
