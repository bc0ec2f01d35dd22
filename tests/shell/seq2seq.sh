#!/bin/sh
# Uses seq2seq, the program $1, as people do, and as they should not.
tests=$(realpath "$(dirname "$0")/..")
reads=$(realpath "$(dirname "$0")/../examples/apps/runs/read_report.py")
. "$(dirname "$0")/char_lm_checks.sh"

# Words turned around.
awk 'BEGIN {
  for (n = 0; n < 300; n++) {
    word = sprintf("%x", n * n + 7)
    turned = ""
    for (c = length(word); c > 0; c--) turned = turned substr(word, c, 1)
    print word "\t" turned
  }
}' > pairs.tsv
tiny="--n_layer 1 --n_head 2 --n_embd 16 --max_len 20 --batch_size 8 --max_iters 20
  --warmup_iters 2 --eval_interval 10 --log_interval 1"

# --- What it is for.

runs train $tiny --data pairs.tsv --out_dir run
prints '^transformer to transformer with [0-9]+ parameters, on .*: 285 pairs to train on, 15 to'
prints '^step 10/20  loss [0-9.]+  [0-9.]+k tokens/s  ETA 0:'
prints '^step 20  train loss [0-9.]+  validation loss [0-9.]+ nats per token'
[ "$(ls run)" = "best.safetensors
last.safetensors
metrics.jsonl" ] || fail "files: $(ls run)"
[ "$(grep -c gradient_norm run/metrics.jsonl)" = 20 ] || fail 'metrics'

runs eval run --predictions predictions
prints '^[0-9.]+ % of the targets exact$'
prints '^[0-9.]+ % sequence error rate$'
prints '^[0-9.]+ % token error rate$'
prints '^15 sources$'
[ "$(wc -l < predictions)" = 15 ] || fail "predictions: $(cat predictions)"
tail -n 15 pairs.tsv > last.tsv
cut -f1,3 predictions > asked
cmp -s asked last.tsv || fail "other pairs than those held back: $(cat asked)"
runs eval run --data pairs.tsv --checkpoint last --beam 1 --batch_size 7
prints '^300 sources$'

# translate: a line for a line, in order, the same whatever the batches and whether alone.
cut -f1 pairs.tsv > sources
translates() {
  "$char_lm" translate run "$@" > output 2> errors || fail "status $? of translate $*: $(cat errors)"
}
translates < sources
[ "$(wc -l < output)" = 300 ] || fail "translate: $(wc -l < output) lines"
mv output whole
translates --batch_size 7 < sources
cmp -s output whole || fail 'other translations in batches of 7'
translates --threads 1 < sources
cmp -s output whole || fail 'other translations on one thread'
head -n 3 sources | tail -n 1 | tr -d '\n' > third
translates < third
sed -n 3p whole | cmp -s - output || fail 'another translation alone'
translates --temperature 1 --seed 3 < sources
mv output drawn
translates --temperature 1 --seed 3 --batch_size 11 < sources
cmp -s output drawn || fail 'other draws in other batches'
translates --temperature 1 --seed 4 < sources
cmp -s output drawn && fail 'the same draws from another seed'
: | translates
[ ! -s output ] || fail 'a translation of nothing'

# At a terminal, an answer comes before the next line is read.
mkfifo typed
"$char_lm" translate run < typed > answers 2> errors &
exec 3> typed
echo 7 >&3
awaits $! test -s answers
[ "$(wc -l < answers)" = 1 ] || fail 'no answer before the next line'
exec 3>&-
wait

# Lines that the model cannot read.
printf '7\nxyz!\n8\n' > unknown
status=0
"$char_lm" translate run < unknown > output 2> errors || status=$?
[ "$status" = 1 ] || fail "status $status of an unknown character"
[ "$(wc -l < output)" = 1 ] || fail "before an unknown character: $(cat output)"
grep -qF 'standard input: line 2: the model does not know the character "x"' errors ||
  fail "an unknown character: $(cat errors)"
translates --skip_bad_rows < unknown
[ "$(wc -l < output)" = 3 ] && [ -z "$(sed -n 2p output)" ] || fail "skipped: $(cat output)"
grep -qF 'skipped standard input: line 2' errors || fail "skipped: $(cat errors)"

# kinds FLAG: the kinds of mixer that it names.
kinds() {
  "$char_lm" train "$1" '?' 2>&1 | sed 's/.*expected //; s/, / /g; s/ or / /'
}

# Every kind of encoder and decoder, words, and one list of symbols for both sides.
sed 's/./& /g; s/ $//; s/ \t /\t/' pairs.tsv > words.tsv
while read -r model; do
  # shellcheck disable=SC2086
  runs train $(without max_iters $tiny) --data words.tsv --max_iters 2 --out_dir any --overwrite \
    --source_tokens words --target_tokens words $model
  runs eval any --beam 2 --max_length 8
done << END
$(for kind in $(kinds --encoder); do echo "--encoder $kind --decoder $kind"; done)
--encoder rope --decoder rope --norm_first false --share_embedding true --tie_embedding true
--encoder music_transformer --decoder transformer --activation gelu
--encoder transformer_xl --decoder transformer_xl --clamp_len 4 --projection_bias true
--encoder aft --form full --decoder transformer_xl
--encoder aft --form simple --decoder aft
--encoder aft --form conv --window 3 --decoder local_rnn
END

# The dates that come with the program.
runs train $(without 'max_iters max_len' $tiny) --max_iters 2 --max_len 64 --out_dir dates
prints 'on the dates: 19000 pairs to train on, 1000 to validate on'
echo '3 March 2021' > date
"$char_lm" translate dates < date > output 2> errors || fail "dates: $(cat errors)"

# Resumed, a run has the bits of one that was never interrupted.
runs train $(without max_iters $tiny) --data pairs.tsv --max_iters 10 --lr_decay_iters 20 --out_dir halves
runs train --resume --max_iters 20 --out_dir halves --threads 1
runs train $tiny --data pairs.tsv --lr_decay_iters 20 --out_dir whole_run
for run in halves whole_run; do
  "$char_lm" translate $run --checkpoint last --temperature 1 < sources > $run.lines
  sed 's/,"tokens_per_second.*//' $run/metrics.jsonl >> $run.lines
done
cmp -s halves.lines whole_run.lines || fail 'a resumed run differs'

# Flags in a file; those on the command line win.
cat > config.json << 'END'
{"data": "pairs.tsv", "n_layer": 1, "n_head": 2, "n_embd": 16, "max_len": 20, "batch_size": 8,
 "max_iters": 99, "lr_decay_iters": 20, "warmup_iters": 2, "eval_interval": 10, "log_interval": 1}
END
runs train --config config.json --max_iters 20 --out_dir configured
sed 's/,"tokens_per_second.*//' configured/metrics.jsonl > configured.lines
sed 's/,"tokens_per_second.*//' whole_run/metrics.jsonl | cmp -s - configured.lines ||
  fail 'other flags than those in the config'
echo '{"n_layers": 1}' > wrong.json
refuses 'wrong.json: unknown flag "n_layers", did you mean n_layer?' train --config wrong.json
refuses '--lr_decay_iters 20: must stay' train --config config.json --resume --out_dir any

# Another run's weights to begin with.
awk '{ print $2 "\t" $1 }' pairs.tsv > other.tsv
start='--init_from whole_run/best.safetensors'
# shellcheck disable=SC2086
runs train $start $(without max_iters $tiny) --data other.tsv --max_iters 0 --out_dir tuned
"$char_lm" translate tuned --checkpoint last --temperature 1 < sources > tuned.lines
"$char_lm" translate whole_run --temperature 1 < sources | cmp -s - tuned.lines ||
  fail 'other weights than those to begin with'
# shellcheck disable=SC2086
runs train $start $(without max_iters $tiny) --data other.tsv --max_iters 30 --dropout 0.3 --out_dir tuned --overwrite
grep -q '"step":30,' tuned/metrics.jsonl || fail 'no training after --init_from'
printf 'xyz\t1\n7\t7\n' > foreign.tsv
# shellcheck disable=SC2086
refuses 'the model does not know the character "x"' train $start $tiny --data foreign.tsv --out_dir any
grep -q '; --add_symbols gives new symbols rows of their own$' errors || fail "no remedy: $(cat errors)"
refuses '--add_symbols: expected --init_from' train --data foreign.tsv --add_symbols --out_dir none

# With --add_symbols they get rows of their own behind the others, which keep theirs: with one list for both sides or
# two, with an output of its own or the embedding.
for kinds in '' '--share_embedding true' '--share_embedding true --tie_embedding true'; do
  # shellcheck disable=SC2086
  {
    runs train $(without max_iters $tiny) --data pairs.tsv --max_iters 2 $kinds --out_dir known --overwrite
    runs train --init_from known --add_symbols $(without max_iters $tiny) --data foreign.tsv --eval_split 0.5 \
      --max_iters 0 --out_dir more --overwrite
  }
  python3 - known/best more/last << 'END' || fail "rows with $kinds"
import json, struct, sys

def read(path):
    data = open(path + ".safetensors", "rb").read()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    facts = header.pop("__metadata__")
    return [json.loads(facts[side + "_symbols"]) for side in ("source", "target")], {
        name: (tensor["shape"], data[8 + size:][slice(*tensor["data_offsets"])])
        for name, tensor in header.items() if not name.startswith("trainer.")}

(before, old), (after, new) = map(read, sys.argv[1:])
for known, all_known in zip(before, after):
    assert all_known[:len(known)] == known and len(set(all_known)) == len(all_known), (known, all_known)
assert set("xyz") <= set(after[0]) and "7" in after[1], after
assert old.keys() == new.keys()
grown = [name for name in old if old[name][0] != new[name][0]]
assert grown and all(new[name][0][1:] == old[name][0][1:] for name in grown), grown
assert all(new[name][1].startswith(old[name][1]) for name in old)
assert all(any(new[name][1][len(old[name][1]):]) for name in grown if len(new[name][0]) > 1), grown
END
  # shellcheck disable=SC2086
  runs train --init_from known --add_symbols $tiny --data foreign.tsv --eval_split 0.5 --out_dir more --overwrite
  runs train --resume --out_dir more --max_iters 22
  echo xyz | "$char_lm" translate more > output 2> errors || fail "new symbols with $kinds: $(cat errors)"
done
# shellcheck disable=SC2086
refuses '--n_layer 2: must stay 1, as in whole_run/best.safetensors' \
  train $start --data other.tsv --n_layer 2 --out_dir any
refuses '--target_tokens "words": must stay' train $start --data other.tsv --target_tokens words
refuses 'missing: no such file' train --init_from missing --out_dir any
refuses '--init_from excludes --resume' train --resume $start

# Bad rows.
{ cat pairs.tsv; echo 'no tab'; } > bad.tsv
refuses 'bad.tsv: line 301: 0 tabs' train $tiny --data bad.tsv --out_dir run
"$char_lm" train $(without max_iters $tiny) --max_iters 1 --data bad.tsv --skip_bad_rows --out_dir any --overwrite \
  > output 2> errors ||
  fail "--skip_bad_rows: $(cat errors)"
grep -q 'skipped .*bad.tsv: line 301' errors || fail "--skip_bad_rows: $(cat errors)"
"$char_lm" eval any --data bad.tsv --skip_bad_rows > output 2> errors || fail "eval: $(cat errors)"

# A signal saves and ends.
"$char_lm" train $(without max_iters $tiny) --max_iters 100000 --data pairs.tsv --out_dir stopped > output 2> errors &
pid=$!
awaits $pid test -s stopped/last.safetensors
kill -TERM $pid
status=0
wait $pid || status=$?
[ "$status" = 143 ] || fail "status $status after SIGTERM"
prints 'train --resume --out_dir stopped continues'

runs attention run --source 1f7 --out map.svg
[ "$(tail -n 1 output)" = 'wrote map.svg' ] || fail "the picture's place: $(cat output)"
grep -q 'block 0, mean of 2 heads' map.svg || fail 'titles of the maps'
runs attention run --source 1f7 --target 7f1 --heads --out map.svg
grep -q 'block 0, head 1' map.svg || fail 'titles of the maps'

runs attention run --source 1f7 --json
python3 -c '
import json
x = json.load(open("output"))
assert x["source"] == list("1f7") and x["target"][-1] == "end" and len(x["blocks"][0]) == 1, x
assert all(abs(sum(row) - 1) < 1e-5 and len(row) == 3 for row in x["blocks"][0][0]["weights"]), x
' || fail 'the numbers of the alignment'

# A name is never a command.
cp -r run '|echo>PWNED #'
runs attention '|echo>PWNED #' --source 1f7
runs attention run --source 1f7 --out '|echo>PWNED #.svg'
[ -f '|echo>PWNED #.svg' ] || fail 'no picture of a name that begins with |'
[ ! -e PWNED ] || fail 'a command in a name was run'

# A percent sign in a word is no format, and a control character not one of the picture's.
printf '50%%s %%\tx\001y %%%%\n100%% %%d\t%%n\n' > percent.tsv
awk 'BEGIN { for (n = 0; n < 20; n++) print "%s" n " 7%\t" n "%" }' >> percent.tsv
runs train $tiny --data percent.tsv --source_tokens words --target_tokens words --out_dir percent
runs attention percent --source '50%s %' --target "$(printf 'x\001y %%%%')" --out percent.svg
for word in '50%s' '%' 'x\x01y' '%%'; do
  grep -q -F ">$word</text>" percent.svg || fail "no '$word' in $(grep '<text' percent.svg)"
done

# --- A report for a browser.

runs report run percent --out report.html
prints '^wrote report.html$'
python3 "$reads" report.html runs=run,percent training attention=4 nothing=0 || fail 'the report'
runs report run --source 1f7 --out report.html
python3 "$reads" report.html runs=run attention=1 || fail 'the report of one source'
runs report run --source unknown~ --out report.html
python3 "$reads" report.html runs=run nothing=1 || fail 'the report of a source that the model cannot read'
refuses 'missing/best.safetensors: no such file' report run missing
refuses '--out run: expected the name of a file' report run --out run
refuses 'RUN' report

runs --help
for command in eval translate attention report train; do runs $command --help; done
prints '^  --norm_first BOOL=true  '

# --- What it is not for.

refuses 'expected train, eval, translate, attention or report'
refuses 'missing: No such file' train --data missing --out_dir run
refuses 'line 2: target: 30 tokens, but the model takes at most 19' train $tiny --out_dir run \
  --data "$(printf 'a\tb\nc\td%029d\n' 0 > long.tsv; echo long.tsv)"
refuses '--n_embd 18 is not divisible by --n_head 4' train --n_embd 18 --n_head 4 --out_dir run
refuses '--encoder local_rnn, expected transformer, ' train \
  --encoder local_rnn --out_dir run
refuses '--decoder lstm, expected transformer' train --decoder lstm --out_dir run
refuses '--source_tokens bytes' train --source_tokens bytes --out_dir run
refuses '--share_embedding' train --share_embedding true --target_tokens words --out_dir run
refuses 'label_smoothing 1' train $tiny --data pairs.tsv --label_smoothing 1 --out_dir run
for flag in n_layer max_iters batch_size learning_rate dropout eval_interval log_interval threads; do
  refuses "$flag" train $tiny --data pairs.tsv --out_dir run --$flag -1
done
refuses '--n_layer 2: must stay 1, as in run/last.safetensors' train --resume --out_dir run --n_layer 2
refuses '--max_iters 5: the run in run/last.safetensors is already at step 20' \
  train --resume --out_dir run --max_iters 5
sort pairs.tsv > sorted.tsv
refuses "tokens and lengths, the run's had" train --resume --out_dir run --data sorted.tsv
refuses 'nowhere/last.safetensors: no such file' train --resume --out_dir nowhere
refuses '--checkpoint first' eval run --checkpoint first
refuses '--beam 0' eval run --beam 0
refuses 'length_penalty -1' eval run --length_penalty -1
refuses '--batch_size 0' translate run --batch_size 0
refuses 'top_p 2' translate run --top_p 2
refuses '--max_length 0' eval run --max_length 0
refuses '--source: the model does not know the character' attention run --source 'é'

# Rows of one source are held back together, and nothing is left to train on.
awk 'BEGIN { for (n = 0; n < 60; n++) print "1f7\t" n }' > one_source.tsv
refuses 'one_source.tsv: 60 rows, all of one source, of which none is left to train on; expected --val_data' \
  train --data one_source.tsv --out_dir new
printf '1f7\t1\n' > one_row.tsv
refuses 'one_row.tsv: 1 row, so few that none is left' train --data one_row.tsv --out_dir new
printf '1f7\t1\n2f7\t1\n' > two_rows.tsv
refuses 'two_rows.tsv: 2 rows, so few that none is left to train on; expected --val_data' \
  train --data two_rows.tsv --eval_split 0.9 --out_dir new

# A flag without a value, and one out of its range.
refuses '--max_len: no value, expected --max_len=TOKENS' train --max_len --data pairs.tsv
refuses '--temperature -1, expected at least 0' eval run --temperature -1
most=9223372036854775807
for flag in n_layer n_head n_embd d_inner max_len max_distance window batch_size max_iters \
  warmup_iters lr_decay_iters eval_interval eval_pairs patience save_interval log_interval threads; do
  refuses "--$flag $most, expected at most " train $tiny --$flag $most
done
for flag in eval_split dropout learning_rate min_lr weight_decay beta1 beta2 grad_clip \
  label_smoothing; do
  refuses "--$flag inf, expected " train $tiny --$flag inf
done
for flag in beam top_k max_length batch_size threads; do
  refuses "--$flag $most, expected at most " eval run --$flag $most
done
for flag in length_penalty temperature top_p; do
  refuses "--$flag inf, expected " translate run --$flag inf
done

# What a checkpoint says passes the same checks.
mkdir lying
for change in 'eval_split=1.5 1.5, expected more than 0 and less than 1' \
  'max_len=0 0, expected at least 2' 'source_tokens="bytes" "bytes", expected characters or words' \
  'encoder="local_rnn" "local_rnn", expected transformer, '; do
  python3 "$tests/support/saved_flags.py" run/best.safetensors lying/best.safetensors "${change%% *}"
  for command in eval translate 'attention --source 1f7'; do
    refuses "lying/best.safetensors: training: training flag \"${change%%=*}\" is ${change#* }" $command lying
  done
done

# A run is named by its folder or by a file in it.
runs eval run/last.safetensors
refuses '--checkpoint last: run/best.safetensors is a file' \
  eval run/best.safetensors --checkpoint last

# Every way to break a checkpoint.
mkdir broken
broken_by() {
  for command in eval translate; do refuses 'broken/best.safetensors: ' $command broken; done
}
whole=run/best.safetensors
for size in 0 7 100 2000; do
  head -c $size $whole > broken/best.safetensors
  broken_by "cutting to $size bytes"
done
sed 's/shiftgrad-seq2seq-1/shiftgrad-seq2seq-9/' $whole > broken/best.safetensors
broken_by 'another format'
sed 's/\\"n_head\\":2/\\"n_head\\":3/' $whole > broken/best.safetensors
broken_by 'another config'
sed 's/source.embedding.weight/source.embedding.wreck/' $whole > broken/best.safetensors
broken_by 'another name'

[ "$failures" = 0 ]
