#!/bin/sh
# What char_lm, the program $1, says of flags and names that cannot be meant, whether they were typed
# or stand in a checkpoint; and what of a checkpoint may reach a terminal.
tests=$(realpath "$(dirname "$0")/..")
. "$(dirname "$0")/char_lm_checks.sh"

awk 'BEGIN { for (n = 0; n < 600; n++) print "line " n * n % 100 }' > text
tiny="--data text --n_layer 1 --n_head 2 --n_embd 16 --block_size 8 --batch_size 4
  --max_iters 4 --warmup_iters 2 --eval_interval 2 --log_interval 1"
runs train $tiny --out_dir run
runs train $tiny --model transformer --out_dir vanilla

# --- A flag without a value, or with one that is none, is named with what was expected.

refuses '--max_positions: no value, expected --max_positions=TOKENS' \
  train $tiny --out_dir new --max_positions --model=labml
refuses '--max_positions: no value, expected --max_positions=TOKENS' train $tiny --max_positions
refuses '--out_dir: no value, expected --out_dir=FOLDER' train --out_dir --overwrite $tiny
refuses '--prompt: no value, expected --prompt=TEXT' generate run --prompt --length 3
runs generate vanilla --prompt=line --length 3
is_refused 'max_positions: no value, expected max_positions=TOKENS' compare $tiny labml:max_positions
is_refused '--max_positions far, expected a whole number' compare $tiny labml:max_positions=far
refuses '--n_layer many, expected a whole number' train $tiny --n_layer many
refuses '--n_layer: no value, expected --n_layer=LAYERS' train $tiny --n_layer=
refuses '--n_layer 1.5, expected a whole number' train $tiny --n_layer 1.5
refuses '--n_layer 99999999999999999999, expected' train $tiny --n_layer 99999999999999999999
refuses '--learning_rate fast, expected a number' train $tiny --learning_rate fast
refuses '--learning_rate nan, expected' train $tiny --learning_rate nan
refuses '--norm_first maybe, expected true or false' train $tiny --norm_first maybe
refuses '--seed 99999999999999999999, expected a whole number' train $tiny --seed 99999999999999999999
refuses '--seed -1, expected a whole number' train $tiny --seed -1
refuses '--d_inner 288230376151711744, expected at most' train $tiny --d_inner 288230376151711744
refuses '--threads 4294967297, expected at most' train $tiny --threads 4294967297
refuses '--prompt: an empty prompt' generate run --prompt ''
refuses '--temperature -1, expected at least 0' generate run --temperature -1
refuses '--top_p 0, expected more than 0 and at most 1' generate run --top_p 0
refuses '--lengths: some, expected a whole number' context run --lengths some
# A flag of one value is given once, on the command line, joined to its value or not, and for one model.
refuses '--data: given 2 times, expected one value' train $tiny --data other --out_dir new
refuses '--n_layer: given 3 times, expected one value' train --n_layer 1 --n_layer=2 --n_layer 1 --data text
refuses '--length: given 2 times, expected one value' generate run --length 1 --length 1
refuses '--out: given 2 times, expected one value' plot run --out a.svg --out b.svg
is_refused 'labml:window=1,window=2: --window: given 2 times' compare $tiny labml:window=1,window=2
runs plot run --json --json
# A list takes all of its values, and a file of flags gives way to the command line.
runs context run --lengths 1,2 --lengths 3 --tokens 5
prints '^ *3 '
echo '{"data": "other", "max_iters": 9}' > flags.json
runs train $tiny --out_dir configured --config flags.json
runs inspect configured
prints '^  max_iters +4$'

refuses '--precision float16, expected float32 or bfloat16' train $tiny --precision float16
refuses '--precision float16, expected float32 or bfloat16' eval run --precision float16

# Every number has a greatest value.
most=9223372036854775807
for flag in n_layer n_head n_embd d_inner block_size mem_len window clamp_len max_positions d_head \
  max_seq max_distance max_len factor_rank batch_size gradient_accumulation_steps \
  batch_warmup_iters targets max_iters warmup_iters lr_decay_iters eval_interval eval_iters \
  patience save_interval log_interval threads; do
  refuses "--$flag $most, expected at most " train $tiny --$flag $most
done
for flag in eval_split dropout dropatt intermediate_losses extra_targets_weight learning_rate min_lr \
  weight_decay beta1 beta2 momentum grad_clip; do
  refuses "--$flag inf, expected " train $tiny --$flag inf
done
for flag in tgt_len mem_len ext_len clamp_len window batch_size threads; do
  refuses "--$flag $most, expected at most " eval run --$flag $most
done
for flag in length num_samples top_k repetition_window mem_len threads; do
  refuses "--$flag $most, expected at most " generate run --$flag $most
done
for flag in temperature top_p min_p repetition_penalty; do
  refuses "--$flag inf, expected " generate run --$flag inf
done
for flag in seeds parameters length; do
  refuses "--$flag $most, expected at most " compare $tiny --$flag $most
done
refuses "--tokens $most, expected at most " context run --tokens $most
refuses "--lengths: $most, expected at most " context run --lengths $most
for flag in layer head; do
  refuses "--$flag $most, expected at most " attention run --text line --$flag $most
done

# --- What a checkpoint says passes the same checks.

mkdir lying
# lies NAME=JSON TEXT...: a checkpoint that carries this flag is refused by all that read it.
lies() {
  change=$1
  for name in best last; do
    python3 "$tests/support/saved_flags.py" run/last.safetensors lying/$name.safetensors "$change"
  done
  for command in eval generate inspect 'attention --text line' positions context \
    'train --resume --out_dir'; do
    [ "$command" = 'train --resume --out_dir' ] && file=last || file=best
    refuses "lying/$file.safetensors: training flag \"${change%%=*}\" is $2" $command lying
  done
  refuses "lying/best.safetensors: training flag \"${change%%=*}\" is $2" \
    train --init_from lying/best.safetensors $tiny --out_dir new
}
lies block_size=0 '0, expected at least 1'
lies block_size=-8 '-8, expected at least 1'
lies "mem_len=$most" "$most, expected at most"
lies eval_split=1.5 '1.5, expected more than 0 and less than 1'
lies n_layer=true 'true, expected a whole number'
lies 'model="lstm"' '"lstm", expected transformer, '
lies 'vocab="words"' '"words", expected bytes, all_bytes or characters'
lies threads=4294967297 '4294967297, expected at most'
lies 'tie_embedding=1' '1, expected true or false'
python3 "$tests/support/saved_flags.py" run/best.safetensors lying/best.safetensors block_size=100000000
refuses 'distances in training, expected at most' positions lying

# --- A run is named by its folder or by a file in it.

runs eval run
head -n 4 output > score
runs eval run/best.safetensors
head -n 4 output | cmp -s - score || fail 'another score of the same checkpoint'
runs inspect run/last.safetensors
prints '^run/last.safetensors$'
runs inspect run/last.safetensors --checkpoint last
refuses '--checkpoint last: run/best.safetensors is a file' \
  inspect run/best.safetensors --checkpoint last
refuses 'text: ' inspect text
runs train --init_from run --data text --max_iters 0 --out_dir tuned
refuses '--out_dir run/last.safetensors: a file, expected a folder' \
  train --resume --out_dir run/last.safetensors
refuses '--out_dir text: ' train $tiny --out_dir text

# A picture's place is printed.
# draws FILE ARGUMENT...
draws() {
  file=$1
  shift
  runs "$@"
  [ "$(tail -n 1 output)" = "wrote $file" ] || fail "the place of $1's picture: $(cat output)"
  [ -s "$file" ] || fail "no $file"
}
draws run/attention.svg attention run/last.safetensors --text line
draws run/positions.svg positions run/best.safetensors
draws loss.svg plot run/metrics.jsonl vanilla
draws report.html report run vanilla --tokens 20
draws some.svg context run/best.safetensors vanilla --tokens 20 --out some.svg

# --- A score of a part of the text says so.

runs train $tiny --eval_iters 2 --out_dir part
validated=$(tail -c "$(($(wc -c < text) / 10))" text | wc -c)
prints "^evaluations score the first 64 of $validated characters; char_lm eval scores all$"
sed -n 's/^step 4 .* = \([0-9.]*\) bits.*/\1/p' output > said
runs eval part --checkpoint last
prints "^training reported $(cat said) bits per character on the first 64 of $validated characters \(--eval_iters 2\)$"
runs eval part --checkpoint last --data text
grep 'training reported' output && fail 'another text than the training had'
# The report has the score of eval.
runs eval part
score=$(sed -n 's/^\([0-9.]*\) nats per character$/\1/p' output)
runs report part --tokens 20
scored=$(sed 's/<[^>]*>//g' report.html | grep '^score')
reported=$(echo "$scored" | sed 's/.*which are \([0-9.]*\) nats per character.*/\1/')
[ "$reported" = "$score" ] || fail "the report has $reported, eval $score"
case $scored in *"for all $validated characters") ;; *) fail "the report does not say what was scored: $scored" ;; esac
runs train $tiny --eval_iters 0 --out_dir whole
grep 'evaluations score' output && fail 'nothing was left out'
prints '^step 4 .* bits per character(  best)?$'
runs eval whole
[ "$(wc -l < output)" = 5 ] || fail "eval: $(cat output)"

# --- A training ends with what may come next, and its lines fit a terminal.

runs train $tiny --out_dir next --seed 12345
prints '^saved in next: best.safetensors and last.safetensors$'
prints '^next: char_lm eval next$'
for command in $(sed -n 's/^next: *char_lm \([a-z]*\) .*/\1/p; s/^      char_lm \([a-z]*\) .*/\1/p' output); do
  "$char_lm" "$command" next > /dev/null 2>&1 || fail "the next command, $command"
done
sed 's/^step [0-9]*/step 100000/; /^step /!d' output | awk 'length($0) > 80 { exit 1 }' ||
  fail "lines of more than 80 columns: $(cat output)"
runs train $(without max_iters $tiny) --out_dir none --max_iters 0
prints '^saved in none: last.safetensors$'
grep '^next:' output && fail 'commands for a run without a best checkpoint'
# Too short a text is named.
printf 'short\n' > short
refuses 'short: 5 characters to train on, too few for --batch_size 12 streams of --block_size 64 + 1' train --data short --out_dir new
refuses 'short: 5 characters to train on, too few for a block of --block_size 64 + 1' train --data short --model music_transformer --out_dir new
printf 's' > one
refuses 'one: 1 characters to validate on, expected at least 2' train $tiny --val_data one --out_dir new

# --- What other programs call a flag, a command or a model leads to what it is here.

refuses '--lr: no such flag, did you mean --learning_rate?' train --lr 1e-3
refuses '--d_model: no such flag, did you mean --n_embd?' train --d_model=64
refuses '--device: no such flag; it computes on the CPU, and --threads says on how many' train --device cpu
refuses '--device: no such flag; it computes on the CPU' generate run --device=cuda
refuses '--start: no such flag, did you mean --prompt?' generate run --start x
refuses '-lr: no such flag, did you mean --learning_rate?' train -lr 1e-3
refuses '--lr: no such flag; expected a command first, such as train' --lr 1e-3
refuses 'help: no such command; --help lists the commands' help
refuses 'e: no such command; --help lists the commands' e eval run
refuses 'eval: unexpected argument' inspect run eval run
refuses 'text: unexpected argument, did you mean --data text?' train text
refuses 'OUT_DIR is required: folder of the training run' generate
refuses 'sample: no such command, did you mean generate?' sample run
refuses '--model rope, expected transformer' train --model rope
refuses 'did you mean --model transformer --position rope?' train --model rope
refuses 'did you mean --model transformer --position alibi?' train --model alibi
refuses 'no memory with absolute positions; --model transformer --position rope has one' \
  train $tiny --out_dir new --model transformer --mem_len 8
runs train $tiny --out_dir rope --model transformer --mem_len 8 --position rope
refuses '--model music_transformer --position none has one' \
  train $tiny --out_dir new --model music_transformer --position sinusoid --mem_len 8
echo '{"lr": 1}' > lr.json
refuses 'lr.json: unknown flag "lr", did you mean learning_rate?' train --config lr.json
refuses 'text: not a safetensors file' eval text

# --- The help of a training begins with examples, and groups its flags.

runs train --help
[ "$(sed -n 3p output)" = 'Examples:' ] && [ "$(grep -c '^  char_lm train' output)" = 3 ] ||
  fail "no examples at the top: $(head output)"
for title in Texts 'The run' 'The model' 'Options of some models' Batches 'The loss' Updates; do
  grep -qx "$title:" output || fail "no group $title"
done
# group_of FLAG: the title above it.
group_of() { awk -v flag="--$1" '/^[A-Z].*:$/ { title = $0 } $1 == flag { print title }' output; }
for pair in data/Texts: resume/The_run: n_layer/The_model: max_distance/Options_of_some_models: \
  batch_size/Batches: learning_rate/Updates:; do
  [ "$(group_of "${pair%/*}" | tr ' ' _)" = "${pair#*/}" ] || fail "${pair%/*} below $(group_of "${pair%/*}")"
done
[ -z "$(group_of help)" ] && [ "$(awk '/^Options:$/ { found = 1 } found && /^  --/ { n++ } /^Texts:$/ { exit } END { print n + 0 }' output)" = 0 ] ||
  fail 'flags without a group'

# --- A comparison says where its runs are.

runs compare $tiny --seeds 1 --length 3 --out_dir compared labml aft
prints '^== labml, run 1 of 1, in compared/labml/1337$'
runs compare --help
prints 'MODEL/SEED'

# --- Commands to a terminal that stand in a checkpoint do not reach it, nor does what is endless.

# quiet COMMAND...: no control character on standard output or standard error, and not much at all.
quiet() {
  "$char_lm" "$@" > output 2> errors
  LC_ALL=C tr -d '\n' < output | LC_ALL=C grep -q '[[:cntrl:]]' && fail "output of: $*"
  LC_ALL=C tr -d '\n' < errors | LC_ALL=C grep -q '[[:cntrl:]]' && fail "errors of: $*"
  [ "$(cat output errors | wc -c)" -lt 20000 ] || fail "$(cat output errors | wc -c) bytes of: $*"
}
escape='\u001b]0;owned\u0007'
python3 "$tests/support/saved_flags.py" run/best.safetensors lying/best.safetensors \
  "data=\"$escape\"" "freeze=\"$escape\u009b2J\""
quiet eval lying
grep -qF '\x1B]0;owned\x07' errors || fail "not escaped: $(cat errors)"
quiet inspect lying
grep -qF '\x1B]0;owned\x07\xC2\x9B2J' output || fail "not escaped: $(cat output)"
python3 "$tests/support/saved_flags.py" run/best.safetensors lying/best.safetensors \
  "data=\"$(head -c 100000 /dev/zero | tr '\0' a)\""
quiet eval lying
quiet inspect lying
python3 "$tests/support/saved_flags.py" run/best.safetensors lying/best.safetensors \
  "model=\"$escape$(head -c 100000 /dev/zero | tr '\0' a)\""
quiet eval lying

[ "$failures" = 0 ]
