#!/bin/sh
# What the flags of char_lm's `train` (the program $1) that change how it learns make of a training.
. "$(dirname "$0")/char_lm_checks.sh"

# losses RUN: its metrics without speeds.
losses() { sed 's/,"tokens_per_second[^}]*//' "$1/metrics.jsonl"; }

# same, differ RUN RUN: whether two runs took the same course.
same() {
  losses "$1" > one
  losses "$2" > two
  cmp -s one two || fail "$1 and $2 took different courses"
}
differ() {
  losses "$1" > one
  losses "$2" > two
  cmp -s one two && fail "$1 and $2 took the same course"
}

awk 'BEGIN { for (n = 0; n < 300; n++) print "line " n * n % 100 }' > text
shape="--n_layer 1 --n_head 2 --n_embd 16 --block_size 8"
short="--batch_size 4 --max_iters 12 --warmup_iters 2 --eval_interval 4 --log_interval 1"
tiny="--data text $shape $short"
runs train $tiny --out_dir plain

# --- Dropout of attention weights apart from the rest.
runs train $tiny --out_dir both --dropout 0.3
runs train $tiny --out_dir both_named --dropout 0.3 --dropatt 0.3
same both both_named
runs train $tiny --out_dir attention --dropatt 0.3
runs train $tiny --out_dir rest --dropout 0.3 --dropatt 0
differ attention plain
differ rest plain
differ rest both
refuses '--dropatt 1, expected 0 to less than 1' train $tiny --dropatt 1
refuses '--dropatt: --model aft has no such option' train $tiny --model aft --dropatt 0.1

# --- Several batches an update. Of blocks, they are those of one large batch, but for rounding.
runs train $(without batch_size $tiny) --out_dir large --model transformer --batch_size 6
runs train $(without batch_size $tiny) --out_dir accumulated --model transformer --batch_size 2 \
  --gradient_accumulation_steps 3
for run in large accumulated; do sed -n 's/.*"loss":\([0-9.]*\).*/\1/p' $run/metrics.jsonl > $run/losses; done
paste large/losses accumulated/losses |
  awk '{ if ($1 - $2 > 1e-4 || $2 - $1 > 1e-4) exit 1 } END { if (NR != 12) exit 1 }' ||
  fail "accumulated: $(paste large/losses accumulated/losses)"
refuses 'gradient_accumulation_steps 0' train $tiny --gradient_accumulation_steps 0
runs train $tiny --out_dir rising --gradient_accumulation_steps 3 --batch_warmup_iters 4
differ rising accumulated
refuses 'batch_warmup_iters 4 needs' train $tiny --batch_warmup_iters 4

# --- Auxiliary losses: lower blocks and later tokens. The checkpoint's model is without them.
runs train $(without n_layer $tiny) --n_layer 2 --out_dir deep
runs train $(without n_layer $tiny) --n_layer 2 --intermediate_losses 1 --out_dir layers
runs train $(without n_layer $tiny) --n_layer 2 --targets 2 --out_dir targets
differ layers deep
differ targets deep
differ layers targets
for run in deep layers targets; do
  runs inspect $run
  grep -Eo '^[a-z0-9_.]+\.(weight|bias)' output > $run/names
  cmp -s $run/names deep/names || fail "parameters of $run: $(cat $run/names)"
done
runs eval layers
runs train $(without n_layer $tiny) --n_layer 2 --targets 1 --extra_targets_weight 3 --out_dir off
same off deep
refuses 'intermediate_losses 1 for a model of one block' train $tiny --intermediate_losses 1
refuses 'targets 9, expected at most block_size 8' train $tiny --targets 9

# --- Tokens fed again, and a loss about the last tokens of each block.
runs train $tiny --out_dir fed_again --ext_len 4
differ fed_again plain
for ext_len in '' '--ext_len 4' '--ext_len 0'; do
  runs eval fed_again $ext_len --losses "losses${ext_len#--ext_len }"
done
cmp -s losses losses4 || fail 'eval forgets the ext_len of the training'
cmp -s losses losses0 && fail 'eval has the ext_len of the training only'
runs train $tiny --out_dir last --loss_tokens 4
differ last plain
runs train $tiny --out_dir all --loss_tokens 8
same all plain
runs train $tiny --out_dir ordered --model music_transformer --ext_len 4
refuses 'ext_len -1' train $tiny --ext_len -1
refuses 'loss_tokens 9, expected at most block_size 8' train $tiny --loss_tokens 9
refuses 'loss_tokens with auxiliary losses' train $tiny --loss_tokens 4 --targets 2
refuses 'forget' train $tiny --model r_transformer --ext_len 2

# --- Absolute positions of tokens fed again are those that the training had, and no others.
refuses "trainer: ext_len 4 and block_size 8, expected at most the model's 8 positions together" \
  train $tiny --model transformer --ext_len 4
runs train $tiny --out_dir sinusoid --model transformer --position sinusoid
runs train $tiny --out_dir sinusoid_again --model transformer --position sinusoid --ext_len 4
# scores RUN FLAG...: leaves the score that eval prints in `scored`.
scores() {
  runs eval "$@"
  head -n 4 output > scored
}
scores sinusoid
mv scored blocks
scores sinusoid --mode memory
cmp -s scored blocks || fail 'sinusoids that go on without a memory'
scores sinusoid --tgt_len 4 --ext_len 4
cmp -s scored blocks && fail 'eval has no ext_len without a mode'
scores sinusoid_again
mv scored again
scores sinusoid_again --tgt_len 8 --ext_len 4
cmp -s scored again || fail 'eval forgets the ext_len of the training with sinusoids'
runs train $tiny --out_dir music --model music_transformer
scores music --mode memory --ext_len 4
mv scored again
scores music --ext_len 4
cmp -s scored again || fail 'ext_len without a mode is not that of mode memory'
refuses '--ext_len 5: with --tgt_len 8, expected at most 4, as the model was trained on 12 positions' \
  eval sinusoid_again --ext_len 5
refuses '--ext_len 4: with --tgt_len 8, expected at most 0, as the model was trained on 8 positions' \
  eval sinusoid --ext_len 4
refuses '--mem_len 8: the model has absolute positions, which start anew in each block, expected 0' \
  eval sinusoid --mem_len 8
# Of a prompt beyond a block, the last half block counts.
runs generate sinusoid --prompt 'line 25line 36' --temperature 1 --length 200
tail -c 201 output > long
runs generate sinusoid --prompt 'e 36' --temperature 1 --length 200
tail -c 201 output | cmp -s - long || fail 'a text of sinusoids goes on beyond its block'

# --- The end of patience: with this rate, the model soon gets worse.
runs train $(without max_iters $tiny) --out_dir impatient --max_iters 400 --learning_rate 0.5 --min_lr 0.5 --patience 2
grep -Eq 'stopped after step [0-9]+: 2 evaluations in a row without a new best' output ||
  fail "patience: $(cat output)"
tail -n 1 impatient/metrics.jsonl | grep -q validation_loss || fail 'no evaluation at the end'
sum=$(cksum impatient/*)
runs train --resume --out_dir impatient
[ "$(cksum impatient/*)" = "$sum" ] || fail 'a run that was out of patience went on'
runs train --resume --out_dir impatient --patience 0 --max_iters 60
tail -n 1 impatient/metrics.jsonl | grep -q '"step":60,' || fail 'patience 0 does not go on'

# --- Frozen parameters.
runs train $tiny --out_dir frozen --freeze 'embedding.*,blocks.0.feed_forward.*'
differ frozen plain
refuses 'freeze "head.*", expected a pattern that matches a parameter' train $tiny --freeze 'head.*'
refuses 'leaves no parameter to train' train $tiny --freeze '*'
# The output weight is the embedding unless --tie_embedding false says otherwise.
runs train $tiny --out_dir frozen_head --freeze 'embedding.*'
prints '^freeze: output.weight is frozen with embedding.weight, tied to it$'
runs train $tiny --out_dir scaled_head --lr_scale 'embedding.*=2'
prints '^lr_scale: output.weight has the factor 2 of embedding.weight, tied to it$'
refuses 'freeze "output.weight": output.weight is tied to embedding.weight, expected that name' \
  train $tiny --freeze 'output.weight'
refuses 'lr_scale "output.weight": output.weight is tied to embedding.weight, expected that name' \
  train $tiny --lr_scale 'output.weight=2'

# --- A learning rate of their own, for some parameters and for all.
runs train $tiny --out_dir scaled --lr_scale '*position*=3'
differ scaled plain
runs train $tiny --out_dir twice --learning_rate 2e-3 --min_lr 2e-4
runs train $tiny --out_dir all_scaled --lr_scale '*=2'
for run in twice all_scaled; do
  sed -i 's/"learning_rate":[^,]*,//' $run/metrics.jsonl
done
same all_scaled twice
refuses 'lr_scale "*", expected PATTERN=FACTOR' train $tiny --lr_scale '*'
refuses 'lr_scale "head.*", expected a pattern that matches' train $tiny --lr_scale 'head.*=2'

# --- Schedules.
for schedule in constant linear cosine inverse_sqrt noam; do
  runs train $tiny --out_dir $schedule --schedule $schedule
  for other in constant linear cosine inverse_sqrt noam; do
    [ $other = $schedule ] || [ ! -d $other ] || differ $other $schedule
  done
done
# 16^-0.5 · min(3^-0.5, 3 · 2^-1.5)
runs train $tiny --out_dir noam --schedule noam --learning_rate 1 --overwrite
sed -n 3p noam/metrics.jsonl > third
grep -q '"learning_rate":0.1443' third || fail "noam: $(cat third)"

# --- Another run's weights to begin with.
sed 's/line/nile/' text > other
runs train --init_from plain/best.safetensors --data other $(without max_iters $short) --out_dir tuned --max_iters 0
runs eval tuned --checkpoint last --data text --mode chunks
head -n 4 output > tuned_score
runs eval plain --data text --mode chunks
head -n 4 output | cmp -s - tuned_score || fail 'other weights than those to begin with'
runs train --init_from plain/best.safetensors --data other $short --out_dir tuned --dropout 0.1 \
  --overwrite
grep -q '"step":12,' tuned/metrics.jsonl || fail 'no training after --init_from'
echo 'line of Unknown' >> other
refuses "other: the model does not know 5 characters: 'o', 'f', 'U', 'k', 'w'; the first is number " \
  train --init_from plain/best.safetensors --data other $short --out_dir tuned
refuses '--n_layer 2: must stay 1, as in plain/best.safetensors' \
  train --init_from plain/best.safetensors --data text --n_layer 2 --out_dir tuned
refuses 'missing: no such file' train --init_from missing --data text --out_dir tuned
refuses '--init_from excludes --resume' train --resume --init_from plain/best.safetensors

# --- What is held back.
head -c "$(($(wc -c < text) - 400))" text > first
tail -c 400 text > second
size=$(wc -c < text)
runs train $tiny --out_dir shared --eval_split "$(awk "BEGIN { print 399.5 / $size }")"
runs train $(without data $tiny) --out_dir apart --data first --val_data second
same shared apart
runs eval apart
head -n 4 output > score
grep -qx '399 tokens' score || fail "tokens: $(cat score)"
runs eval plain --data second --eval_split 1
grep -qx '399 tokens' output || fail "tokens: $(cat output)"
refuses '--eval_split 1, expected more than 0 and less than 1' train $tiny --eval_split 1
refuses '--eval_split 0, expected more than 0 and at most 1' eval plain --eval_split 0
refuses 'missing: No such file' train $tiny --val_data missing

# --- Losses, character by character.
runs eval apart --losses losses
[ "$(wc -l < losses)" = 399 ] || fail "$(wc -l < losses) losses"
awk -v nats="$(sed -n 's/ nats.*//p' output)" \
  '{ total += $1 } END { exit !(total / NR - nats < 1e-4 && nats - total / NR < 1e-4) }' losses ||
  fail 'the losses are not those of the score'

# --- Flags in a file; those on the command line win.
cat > config.json << 'END'
{"data": "text", "n_layer": 1, "n_head": 2, "n_embd": 16, "block_size": 8, "batch_size": 4,
 "max_iters": 99, "warmup_iters": 2, "eval_interval": 4, "log_interval": 1, "learning_rate": 1e-3}
END
runs train --config config.json --max_iters 12 --out_dir configured
same configured plain
echo '{"schedule": "cosin"}' > cosine.json
# refuses_config TEXT JSON
refuses_config() {
  echo "$2" > bad.json
  refuses "bad.json: $1" train --config bad.json --out_dir plain
}
refuses_config 'unknown flag "n_layers", did you mean n_layer?' '{"n_layers": 1}'
refuses 'cosine.json: training flag "schedule" is "cosin", expected' train --config cosine.json
refuses_config 'training flag "n_layer" is "two"' '{"n_layer": "two"}'
refuses_config 'training flag "n_layer" is 1.5' '{"n_layer": 1.5}'
refuses_config 'training flag "n_layer" is true' '{"n_layer": true}'
refuses_config 'training flag "n_layer" is 18446744073709551615' '{"n_layer": 18446744073709551615}'
refuses_config 'training flag "seed" is -1' '{"seed": -1}'
refuses_config 'training flag "threads" is 4294967297' '{"threads": 4294967297}'
refuses_config 'training flag "window" is "wide"' '{"window": "wide"}'
refuses_config 'training flag "data" is "text\u0000zzz", expected a text without a zero byte' '{"data": "text\u0000zzz"}'
echo '{"data": "text", "out_dir": "plain\u0000"}' > zero.json
refuses 'zero.json: training flag "out_dir" is "plain\u0000", expected a text' train --config zero.json
refuses_config 'not a JSON object' '[]'
refuses_config 'not JSON' '{"n_layer": 1'
refuses '--batch_size 4: must stay' train --config config.json --resume --out_dir large

[ "$failures" = 0 ]
