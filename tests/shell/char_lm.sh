#!/bin/sh
# Uses char_lm, the program $1, as people do, and as they should not.
tests=$(realpath "$(dirname "$0")/..")
. "$(dirname "$0")/char_lm_checks.sh"

awk 'BEGIN { for (n = 0; n < 300; n++) print "line " n * n % 100 }' > text
tiny="--data text --n_layer 1 --n_head 2 --n_embd 16 --block_size 8 --batch_size 4
  --max_iters 20 --warmup_iters 2 --eval_interval 10 --log_interval 1"

# --- What it is for.

for model in transformer transformer_xl; do
  runs train $tiny --model $model --out_dir $model
  prints '^step 10/20  loss [0-9.]+  [0-9.]+k tokens/s  ETA 0:'
  prints '^step 20  train [0-9.]+  validation [0-9.]+ nats = [0-9.]+ bits per character'
  [ "$(ls $model)" = "best.safetensors
last.safetensors
metrics.jsonl" ] || fail "files of $model: $(ls $model)"
  [ "$(grep -c gradient_norm $model/metrics.jsonl)" = 20 ] || fail "metrics of $model"

  runs eval $model
  head -n 1 output | grep -Eqx '[0-9]\.[0-9]{3} bits per character' || fail "eval: $(cat output)"
  [ "$(wc -l < output)" = 5 ] || fail "eval: $(cat output)"
  runs eval $model --checkpoint last --data text

  runs generate $model --prompt 'line ' --length 30 --seed 5
  [ "$(wc -c < output)" = 36 ] || fail "generate: $(cat output)"
  mv output first
  runs generate $model --prompt 'line ' --length 30 --seed 5
  cmp -s output first || fail "another text from the same seed"
  runs generate $model --prompt 'line ' --length 30 --seed 6
  cmp -s output first && fail "the same text from another seed"
  runs generate $model --length 3 --temperature 0
done

# A run of an earlier time.
runs eval "$tests/support/data/old_run" --data "$tests/support/data/old_run/sentences.txt"
prints '^3\.047 bits per character'
runs generate "$tests/support/data/old_run" --prompt 'The cat' --length 30
runs inspect "$tests/support/data/old_run"

# Sampling as people expect it.
runs generate transformer --prompt 'line ' --length 30 --seed 5
mv output first
printf 'line ' > prompt
runs generate transformer --prompt_file prompt --length 30 --seed 5
cmp -s output first || fail "another text from --prompt_file"
runs generate transformer --prompt_file - --length 30 --seed 5 < prompt
cmp -s output first || fail "another text from standard input"
runs generate transformer --prompt 'line ' --length 30 --seed 5 --num_samples 3
mv output three
head -c 36 three | cmp -s - first || fail "another first sample: $(cat three)"
runs generate transformer --prompt 'line ' --length 30 --seed 5 --num_samples 2
cmp -s -n "$(wc -c < output)" output three || fail 'samples depend on how many there are'
[ "$(wc -c < three)" = $((3 * 36 + 2 * 16)) ] || fail "three samples: $(cat three)"
runs generate transformer --prompt 'line 1' --length 500 --seed 5 --stop 'ne'
tail -c 3 output | grep -q '^ne$' || fail "not at its stop: $(cat output)"
[ "$(grep -o ne output | wc -l)" = 2 ] || fail "beyond its stop: $(cat output)"
runs generate transformer --length 20 --temperature 0
mv output first
runs generate transformer --length 20 --top_p 1e-9 --temperature 2
cmp -s output first || fail 'a tiny top_p is not greedy'
runs generate transformer --length 20 --min_p 1 --temperature 2
cmp -s output first || fail 'min_p 1 is not greedy'
runs generate transformer --length 20 --temperature 0 --repetition_penalty 1.5 --repetition_window 8
cmp -s output first && fail 'no effect of the repetition penalty'

# can_be MODEL FLAG...: such a model is trained, scored, and writes.
can_be() {
  # shellcheck disable=SC2046,SC2086
  runs train $(without max_iters $tiny) --model "$@" --max_iters 2 --out_dir any --overwrite
  runs eval any
  runs generate any --prompt 'line ' --length 40
  [ "$(wc -c < output)" = 46 ] || fail "generate of $*: $(cat output)"
}

# Every model, with each yes or no of its own turned round.
runs train --help
models=$(sed -n 's/^  --model \([^=]*\)=.*/ \1 /p' output | tr '|' ' ')
sed -n '/^Options of some models/,/^$/s/^  --\([a-z_]*\) BOOL *\([a-z_, ]*\): .*(default: \([a-z]*\))$/\1 \3 \2/p' output |
  while read -r flag default named; do
    for model in $(echo "$named" | tr -d ,); do
      case $models in *" $model "*) echo "$model --$flag $default" ;; esac
    done
  done | sed 's/false$/yes/; s/true$/false/; s/yes$/true/' > turned
[ "$(wc -l < turned)" -ge 10 ] || fail "yes and no: $(cat turned)"
while read -r model; do
  # shellcheck disable=SC2086
  can_be $model
done < turned

# With the options that make another of it.
while read -r model; do
  # shellcheck disable=SC2086
  can_be $model
done << 'END'
transformer --position sinusoid --activation relu --norm_first false --tie_embedding false
transformer --position rope --mem_len 8 --window 6
transformer --position alibi --d_inner 20
transformer --position none
transformer_xl --position learned --max_positions 30
transformer_xl --clamp_len 3 --window 5 --d_head 3 --norm_first false
transformer_xl --content_bias false --embedding_scale true --final_norm false
transformer_xl --position learned --max_positions 3 --position_bias false
transformer_xl --projection_bias true --position learned
transformer_xl --tie_position_biases true --embedding_scale true --norm_first false
labml --max_positions 20
music_transformer --max_seq 4 --relative_bias false --mem_len 8
aft --window 3
aft --form full --max_len 10 --factor_rank 2
aft --form simple
aft --form conv
local_rnn --cell lstm --mem_len 5
r_transformer --window 3 --cell rnn
r_transformer --rnn_layers 2 --final_norm false
END

# Models side by side.
runs compare $(without max_iters $tiny) --max_iters 2 --seeds 2 --length 9 --out_dir compared labml aft:form=conv,window=3
prints '^\| labml \| [0-9]+ \| 2 \| [0-9]\.[0-9]{3} \| [0-9]\.[0-9]{3} \| [0-9]+ \| [0-9]+ \| [0-9.]+ \|$'
prints '^\| aft:form=conv,window=3 \|'
[ "$(grep -c , compared/comparison.csv)" = 3 ] || fail "table: $(cat compared/comparison.csv)"
[ "$(ls compared/labml)" = "1337
1338" ] || fail "runs: $(ls compared/labml)"
grep -q '>aft:form=conv,window=3</text>' compared/comparison.svg || fail 'names in the plot'
runs compare $(without max_iters $tiny) --max_iters 2 --seeds 1 --length 9 --out_dir compared --overwrite \
  labml local_rnn --parameters 5000
awk -F, 'NR > 1 && ($2 < 4900 || $2 > 5100 || $5 != "")' compared/comparison.csv | grep . \
  && fail "not of 5000 parameters: $(cat compared/comparison.csv)"

# Flags of the training that only one model gets.
runs compare $(without max_iters $tiny) --max_iters 2 --seeds 1 --length 9 --out_dir compared --overwrite \
  labml:learning_rate=2e-3 labml
# rate MODEL: the learning rate of its first step.
rate() {
  sed -n 's/.*"step":1,.*"learning_rate":\([^,]*\).*/\1/p' "compared/$1/1337/metrics.jsonl"
}
awk -v own="$(rate labml:learning_rate=2e-3)" -v common="$(rate labml)" \
  'BEGIN { exit !(common > 0 && own == 2 * common) }' || fail "learning rates: $(rate labml)"

# own_mode RUN FLAG...: with the flags, eval prints the score that it prints without.
own_mode() {
  runs eval "$1"
  head -n 4 output > own
  runs eval "$@"
  head -n 4 output | cmp -s - own || fail "eval $* is not its own mode"
}
own_mode transformer --mode chunks --tgt_len 8
own_mode transformer --mode memory
own_mode transformer_xl --mode memory --tgt_len 8 --mem_len 8 --ext_len 0 --clamp_len 0
runs eval transformer --mode sliding
runs eval transformer_xl --mode chunks
runs eval transformer_xl --mem_len 32 --tgt_len 4 --ext_len 4 --clamp_len 6
# After a first block that is fed again whole, the memory is empty; it is saved and read all the same.
runs train $(without max_iters $tiny) --model transformer_xl --ext_len 8 --max_iters 1 --out_dir fed_again
runs train --resume --max_iters 2 --out_dir fed_again
# A prompt may be longer than a model has positions.
printf '%0300d' 0 | sed 's/0/ line/g' > prompt
runs train $(without max_iters $tiny) --model labml --max_iters 2 --out_dir any --overwrite
runs generate any --prompt_file prompt --mem_len 10 --length 3
# A window sees as many tokens of memory as it needs, however the text is cut.
runs eval transformer_xl --window 4 --mem_len 3 --tgt_len 1
head -n 4 output > narrow
runs eval transformer_xl --window 4 --mem_len 20 --tgt_len 7
head -n 4 output | cmp -s - narrow || fail "a window of 4 depends on the memory: $(cat narrow output)"
runs eval transformer_xl --window 1
! head -n 4 output | cmp -s - narrow || fail 'a window of 1 scores as one of 4 does'

# The same run twice, and on one thread, gives the same bytes but for the flags it keeps.
weights() {
  runs generate "$1" --checkpoint last --length 200 --temperature 0
  cat output
  sed 's/,"tokens_per_second.*//' "$1/metrics.jsonl"
}
weights transformer_xl > first
runs train $tiny --out_dir again --threads 1
# An environment that slows the products down is named, once, and only where something is computed.
if grep -q avx512vl /proc/cpuinfo; then
  OPENBLAS_CORETYPE=Haswell "$char_lm" eval again > output 2> errors || fail 'eval with other kernels'
  [ "$(sed 's/ keeps .*//' errors)" = 'char_lm: OPENBLAS_CORETYPE=Haswell' ] || fail "$(cat errors)"
  OPENBLAS_CORETYPE=Haswell "$char_lm" eval missing 2> errors && fail 'a missing run'
  grep -q OPENBLAS_CORETYPE errors && fail "$(cat errors)"
  OPENBLAS_CORETYPE=Haswell runs inspect again
fi
weights again | cmp -s - first || fail 'another result on one thread'

runs --help
prints 'Exit status: 0 '
for command in train eval generate compare inspect plot positions context report; do
  runs $command --help
  # Every flag that has a value has a unit and a default.
  awk '/^  -/ { print flag; flag = $0 } /^          / { flag = flag $0 } /^$/ { print flag; flag = "" }
    END { print flag }' output | grep '^  --' | grep -Ev '^  --(resume|overwrite|json|add_characters|follow)' > flags
  grep -Ev '^  --[a-z_0-9]+ [A-Za-z0-9|_=,.]+(=[^ ]| .*\(default: )' flags &&
    fail "no unit or default, in $command"
done

# --- What it is not for.

refuses 'expected train, eval, generate, compare, inspect, plot, attention, positions, context, convert or report'
refuses 'sing: no such command' sing
refuses 'trian: no such command, did you mean train?' trian
refuses '--learning-rate: no such flag, did you mean --learning_rate?' train --learning-rate 1
refuses '--lerning_rate: no such flag, did you mean --learning_rate?' train --lerning_rate=1
refuses '--wide: no such flag' train --wide
refuses 'more: unexpected argument' train more
refuses '--chekpoint: no such flag, did you mean --checkpoint?' eval transformer --chekpoint last
refuses 'batch_size' train --batch_size many
refuses 'OUT_DIR' eval

refuses 'missing: No such file' train --data missing --out_dir transformer
refuses '.: a folder' train --data . --out_dir transformer
: > empty
refuses 'empty: an empty file' train --data empty --out_dir transformer
printf '\357\273\277' > mark
refuses 'mark: a byte order mark without a text' train --data mark --out_dir transformer
echo short > short
for model in transformer transformer_xl; do
  refuses 'short: 5 characters to train on, too few for ' train --data short --model $model --out_dir transformer
done

# refuses_flags TEXT FLAG...: the flags make no training.
refuses_flags() {
  expected=$1
  shift
  refuses "$expected" train $(without "$(echo "$*" | sed 's/--//g')" $tiny) --out_dir transformer "$@"
}
refuses_flags '--n_embd 18 is not divisible by --n_head 4' --n_embd 18 --n_head 4
refuses_flags '--model lstm, expected transformer, ' --model lstm
refuses_flags '--mem_len 4: this --model transformer has no memory' --model transformer --mem_len 4
refuses_flags '--layer_positions: expected --position learned' --layer_positions true \
  --model transformer --position sinusoid
refuses_flags '--form: --model labml has no such option' --model labml --form full
refuses_flags 'aft: max_len with form simple' --model aft --form simple --max_len 8
refuses_flags 'none, rope or alibi, did you mean learned?' --position learnt
for flag in n_layer n_head n_embd block_size batch_size mem_len max_iters learning_rate min_lr \
  warmup_iters lr_decay_iters weight_decay beta1 grad_clip eval_interval eval_iters save_interval \
  log_interval dropout threads; do
  refuses_flags "$flag" --$flag -1
done
refuses_flags '--schedule cosin, expected constant, linear, cosine, ' --schedule cosin
refuses_flags 'did you mean cosine?' --schedule cosin
refuses_flags '--optimizer lion, expected adamw, adam or sgd' --optimizer lion
refuses '--out_dir text: ' train $tiny --out_dir text
refuses '--out_dir text/run: ' train $tiny --out_dir text/run

refuses 'missing/best.safetensors: ' eval missing
refuses '--checkpoint first, expected best or last' eval transformer --checkpoint first
refuses 'missing: No such file' eval transformer --data missing
echo 'Unknown' > unknown
refuses "unknown: the model does not know 4 characters: 'U', 'k', 'o', 'w'; the first is number 1" \
  eval transformer --data unknown
printf line > short
refuses 'a text of 1 tokens' eval transformer --data short
refuses '--mode exact, expected memory, chunks or sliding' eval transformer --mode exact
refuses "--clamp_len: the model's attention has no clamp_len" eval transformer --clamp_len 4
for model in local_rnn r_transformer; do
  runs train $(without max_iters $tiny) --model $model --max_iters 2 --out_dir any --overwrite
  refuses "--window: the model's attention has no window" eval any --window 4
done
refuses '--ext_len 8: expected 0 with --mode chunks' eval transformer_xl --mode chunks --ext_len 8
refuses 'but the model has 8 positions' eval transformer --tgt_len 9
refuses '--mem_len 4: the model has absolute positions, which start anew in each block, expected 0' \
  eval transformer --mem_len 4
refuses '--ext_len 1: with --tgt_len 8, expected at most 0, as the model was trained on 8 positions' \
  eval transformer --ext_len 1
refuses '--ext_len 1: with --tgt_len 9, expected at most 0' eval transformer --tgt_len 9 --ext_len 1
refuses 'but the model has 8 positions' eval transformer --tgt_len 9 --mode memory
for flag in tgt_len mem_len ext_len clamp_len window batch_size; do
  refuses "$flag" eval transformer_xl --$flag -1
done

refuses "--prompt: the model does not know the character U+00E9 'é', number 2" \
  generate transformer --prompt 'lé'
refuses 'an empty prompt' generate transformer --prompt ''
printf 'line X' > unknown_prompt
refuses "unknown_prompt: the model does not know the character 'X', number 6" \
  generate transformer --prompt_file unknown_prompt
refuses "standard input: the model does not know the character 'X', number 6" \
  generate transformer --prompt_file - < unknown_prompt
refuses '--prompt_file -: nothing on standard input' generate transformer --prompt_file - < empty
refuses 'missing: No such file' generate transformer --prompt_file missing
refuses '--prompt excludes --prompt_file' generate transformer --prompt_file prompt --prompt line
refuses "--stop: the model does not know the character 'X', number 1" generate transformer --stop X
refuses '--num_samples 0' generate transformer --num_samples 0
refuses 'top_p 0' generate transformer --top_p 0
refuses 'repetition_penalty 0' generate transformer --repetition_penalty 0
for flag in length temperature top_k top_p min_p repetition_penalty repetition_window mem_len seed; do
  refuses "$flag" generate transformer --$flag -1
done

refuses '--form: --model labml has no such option' compare $tiny labml:form=full
refuses 'labml:wide: ' compare $tiny labml:wide
refuses 'r_transformer, did you mean labml?' compare $tiny lbaml
refuses 'labml:max_postions=3: --max_postions: no such flag, did you mean --max_positions?' \
  compare $tiny labml:max_postions=3
for flag in data=text val_data=text eval_split=0.2 vocab=characters out_dir=x seed=1; do
  refuses "labml:$flag: --${flag%=*}: no such flag" compare $tiny "labml:$flag"
done
refuses '--tie_position_biases: there are no two biases to share' compare $tiny \
  transformer_xl:tie_position_biases=true,position=learned
refuses '--tie_position_biases: --model labml has no such option' compare $tiny \
  labml:tie_position_biases=true
refuses '--parameters 100 is too few' compare $tiny labml --parameters 100
refuses '--seeds 0' compare $tiny labml --seeds 0
refuses '--length 0' compare $tiny labml --length 0

# Every way to break a checkpoint.
mkdir broken
# broken_by HOW: the file is refused.
broken_by() {
  for command in eval generate; do refuses 'broken/best.safetensors: ' $command broken; done
}
whole=transformer/best.safetensors
for size in 0 7 100 2000; do
  head -c $size $whole > broken/best.safetensors
  broken_by "cutting to $size bytes"
done
{ cat $whole; echo; } > broken/best.safetensors
broken_by 'an extra byte'
sed 's/shiftgrad-1/shiftgrad-9/' $whole > broken/best.safetensors
broken_by 'another format'
sed 's/\\"n_head\\":2/\\"n_head\\":3/' $whole > broken/best.safetensors
broken_by 'another config'
sed 's/embedding.weight/embedding.wreck/' $whole > broken/best.safetensors
broken_by 'another name'

# What fails under way has status 1.
if [ -c /dev/full ]; then
  "$char_lm" generate transformer > /dev/full 2> errors
  [ $? = 1 ] || fail 'status of a full disk'
  [ "$(wc -l < errors)" = 1 ] || fail "a full disk: $(cat errors)"
fi
"$char_lm" train $tiny --out_dir diverged --optimizer sgd --learning_rate 1e30 --grad_clip 0 \
  > output 2> errors
[ $? = 1 ] || fail 'status of a run that diverges'
[ "$(wc -l < errors)" = 1 ] || fail "a run that diverges: $(cat errors)"

[ "$failures" = 0 ]
