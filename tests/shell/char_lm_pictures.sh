#!/bin/sh
# Looks into runs of char_lm, the program $1, as people do, and as they should not.
. "$(dirname "$0")/char_lm_checks.sh"

# shows FILE TEXT...: the picture is whole, has a title and a description, and each of the texts is all that
# one of its labels says.
shows() {
  picture=$1
  shift
  tail -n 1 "$picture" | grep -qx '</svg>' || fail "not a whole picture: $picture"
  grep -q '<title id="title">.' "$picture" && grep -q '<desc id="description">.' "$picture" ||
    fail "no title or description: $picture"
  for text in "$@"; do
    grep -qF -- ">$text</text>" "$picture" || fail "no '$text' in $picture: $(grep '<text' "$picture")"
  done
}

# says PYTHON-EXPRESSION: of x, the JSON that was printed.
says() {
  python3 -c "import json; x = json.load(open('output')); assert $1, x" || fail "not so: $1"
}

awk 'BEGIN { for (n = 0; n < 300; n++) print "line " n * n % 100 " <&>`\"\\%'"'"'" }' > text
# trained FOLDER FLAG...: a run of a tiny model.
trained() {
  folder=$1
  shift
  runs train --data text --n_layer 2 --n_head 2 --n_embd 16 --block_size 8 --batch_size 4 \
    --max_iters 4 --warmup_iters 2 --eval_interval 2 --log_interval 1 --out_dir "$folder" "$@"
}
trained xl
trained 'a `date` "run'
trained deep/xl --position learned
trained rope --model transformer --position rope
trained vanilla --model transformer
trained alibi --model transformer --position alibi
trained shaw --model shaw --max_distance 3
trained music --model music_transformer
trained labml --model labml
trained aft --model aft --window 4
trained conv --model aft --form conv --window 4
trained rnn --model local_rnn
trained r_transformer --model r_transformer

# --- inspect

runs inspect xl
prints '^xl/best.safetensors$'
prints '^step +[24]$'
prints '^validation loss +[0-9.]+ nats = [0-9.]+ bits per character$'
prints '^parameter +shape +type +count +mean +deviation +norm$'
prints '^blocks\.1\.mixer\.qkv\.weight +\[48, 16\] +F32 +768 +-?[0-9.e-]+ +[0-9.]+ +[0-9.]+$'
prints '^final_norm\.weight +\[16\] +F32 +16 +[0-9.]+ +[0-9.e-]+ +[34][0-9.]*$'
prints '^  mixer\.type +transformer_xl_attention$'
prints '^  max_iters +4$'
counted=$(awk '/^total/ { exit } NR > 7 { sub(/.*\]/, ""); sum += $2 } END { print sum }' output)
prints "^total +[0-9]+ tensors +$counted "
runs inspect xl --checkpoint last
prints '^step +4$'

refuses 'missing/best.safetensors: no such file' inspect missing
refuses 'text: ' inspect text
refuses '--checkpoint first, expected best or last' inspect xl --checkpoint first
refuses 'OUT_DIR' inspect
refuses '--out' inspect xl --out any

# --- What is drawn.

# --- plot

runs plot xl 'a `date` "run' deep/xl
shows loss.svg xl deep/xl 'a `date` "run' step 'nats per character' 'bits per character'
runs plot xl/ deep/xl/../../rope --out "it's one.svg"
shows "it's one.svg" xl rope 'pale: each batch' 'on top: validation'
mkdir young
head -n 1 xl/metrics.jsonl > young/metrics.jsonl
printf '{"step":2,"lo' >> young/metrics.jsonl
runs plot young --out young.svg
shows young.svg young

mkdir broken
refuses 'missing/metrics.jsonl: No such file' plot missing xl
refuses 'broken/metrics.jsonl: No such file' plot xl broken
echo '{"step":1,"loss":' > broken/metrics.jsonl
refuses 'broken/metrics.jsonl: line 1: ' plot broken
echo '{"step":1,"loss":"much"}' > broken/metrics.jsonl
refuses 'broken/metrics.jsonl: line 1: loss "much", expected a number' plot broken
echo '{"step":1,"loss":null}' > broken/metrics.jsonl
refuses 'broken/metrics.jsonl: has no finite loss' plot broken
refuses '--out xl: expected the name of a file' plot xl --out xl
refuses '--out no/loss.svg: there is no folder' plot xl --out no/loss.svg
refuses 'RUN' plot
refuses '--out excludes --json' plot xl --json --out loss.svg
runs plot xl rope --json
says "[run['name'] for run in x['runs']] == ['xl', 'rope'] and x['runs'][0]['batches']['steps'] == [1, 2, 3, 4]"
says "x['runs'][1]['validation']['steps'] == [2, 4] and all(loss > 0 for loss in x['runs'][1]['batches']['losses'])"

# --- attention

# has_maps FILE NUMBER: the file has NUMBER panels, and one scale of colours.
has_maps() {
  [ "$(grep -c '>layer [0-9]*, ' "$1")" = "$2" ] || fail "not $2 maps in $1"
  [ "$(grep -c '>weight</text>' "$1")" = 1 ] || fail "not one scale in $1"
}

runs attention xl --text 'line 1
l%`"'
shows xl/attention.svg 'attention weights of xl/best.safetensors' 'layer 0, head 0' \
  'layer 1, head 1' query key ␣ ↵ % '`' 'l'
has_maps xl/attention.svg 4
# Each of 11 queries hides the keys after it; a line of cells begins at each but the last, and the scale says what it is.
[ "$(grep -o 'class="hidden" d="[^"]*"' xl/attention.svg | grep -o 'h[0-9]*' | tr -d h | awk '{ sum += $1 } END { print sum }')" = \
  "$((4 * 55 + 1))" ] || fail 'not all later keys are hidden'
shows xl/attention.svg hidden
runs attention xl --text 'line 1' --layer 1 --head 0 --checkpoint last --out one.svg
shows one.svg 'attention weights of xl/last.safetensors' 'layer 1, head 0'
has_maps one.svg 1
runs attention aft --text 'line 1' --out aft.svg
shows aft.svg 'layer 0, mean of 16 channels' 'layer 1, mean of 16 channels'
has_maps aft.svg 2
runs attention conv --text 'line 1' --out conv.svg
shows conv.svg 'layer 0, head 1'
has_maps conv.svg 4
for model in rope vanilla alibi shaw music labml r_transformer; do
  runs attention $model --text 'line' --out maps.svg
  has_maps maps.svg 4
done

runs attention xl --text 'line 1' --layer 1 --json
says "x['characters'] == list('line 1') and len(x['layers']) == 1 and len(x['layers'][0]) == 2"
says "all(abs(sum(row) - 1) < 1e-5 for head in x['layers'][0] for row in head['weights'])"

refuses 'rnn/best.safetensors: the model has no attention' attention rnn --text line
refuses '--text of 1 characters, expected 2 to 100' attention xl --text l
refuses '--text of 9 characters, expected 2 to 8' attention vanilla --text 'line line'
refuses "--text: the model does not know the character 'L', number 1" attention xl --text Line
refuses '--text is required' attention xl
refuses '--layer 2, expected 0 to 1' attention xl --text line --layer 2
refuses '--head -1, expected at least 0' attention xl --text line --head -1
refuses '--head 1, expected 0 to 0' attention aft --text line --head 1
refuses 'missing/best.safetensors: no such file' attention missing --text line
refuses '--out no/maps.svg: there is no folder' attention xl --text line --out no/maps.svg

# --- positions

# has_lines MODEL NUMBER TITLE...: there are NUMBER lines in all panels, which have these titles.
has_lines() {
  model=$1
  lines=$2
  shift 2
  runs positions "$model"
  shows "$model/positions.svg" "learned about distances by $model/best.safetensors" 'layer 0' \
    'layer 1' "$@"
  # Lines of the legend are 22 pixels long.
  [ "$(grep '<path class="curve' "$model/positions.svg" | grep -vc 'h22"')" = "$lines" ] ||
    fail "not $lines lines in $model/positions.svg"
}

has_lines xl 8 'bias v·r / √D' 'norm of r' 'head 1' 'distance δ, characters'
has_lines deep/xl 8 'bias s / √D' 'norm of r'
has_lines labml 8 'bias s / √D' 'norm of r' \
  'distance δ, characters (dashed: the longest in training)'
has_lines music 8 'bias s / √D' 'norm of r'
has_lines shaw 4 "norm of the keys' a" "norm of the values' b" shared
has_lines aft 2 'bias w, mean over queries' shared
has_lines conv 4 'bias w, mean over queries' 'head 1'

runs positions shaw --json
says "x['trained'] == 7 and [len(layer) for layer in x['layers']] == [2, 2]"
says "x['layers'][0][0]['first'] == 0 and [len(head) for head in x['layers'][0][0]['heads']] == [4]"

nothing='best.safetensors: nothing learned about distances:'
refuses "alibi/$nothing ALiBi's slopes are fixed" positions alibi
refuses "rope/$nothing rotary positions are fixed" positions rope
refuses "vanilla/$nothing its learned positions are absolute" positions vanilla
refuses "rnn/$nothing it has no positions" positions rnn
refuses "r_transformer/$nothing it has no positions" positions r_transformer
refuses 'missing/best.safetensors: no such file' positions missing
refuses '--checkpoint first, expected best or last' positions xl --checkpoint first
refuses '--out xl: expected the name of a file' positions xl --out xl
refuses 'OUT_DIR' positions

# --- context

runs context xl vanilla deep/xl --tokens 50
prints '^Bits per character, over 50 characters, each predicted from exactly this many before it:$'
prints '^ +context +xl +vanilla +deep/xl$'
prints '^ +1( +[0-9]\.[0-9]{3}){3}$'
prints '^ +8( +[0-9]\.[0-9]{3}){3}$'
prints '^ +9 +[0-9.]+ +- +[0-9.]+$'
prints '^ +16 +[0-9.]+ +- +[0-9.]+$'
prints '^vanilla has learned positions for only 8 characters$'
prints '^ +r +xl +vanilla +deep/xl$'
prints '^ +0\.1( +(>= )?[0-9]+){3}$'
shows context.svg xl vanilla deep/xl 'context, characters' 'bits per character' 'trained on 8'

runs context xl vanilla --tokens 50 --lengths 2,8,9 --json
says "x['lengths'] == [2, 8, 9] and [len(run['bits']) for run in x['runs']] == [3, 2] and x['runs'][0]['trained'] == 8"

# The same characters from the same context are what eval scores in a sliding window.
runs eval vanilla --mode sliding --tgt_len 3 --losses each
expected=$(awk 'NR >= 3 { sum += $1; n++ } END { printf "%.3f", sum / n / log(2) }' each)
runs context vanilla --lengths 1,3 --tokens 1000000
prints "^ +3 +$expected\$"

# Blocks are eval's chunks.
runs context xl vanilla --mode blocks --out blocks.svg
found=$(awk '$1 == 32 { print $2 }' output)
prints '^ +8( +[0-9]\.[0-9]{3}){2}$'
prints '^ +64 +[0-9.]+ +-$'
shows blocks.svg xl vanilla 'block, characters' 8 64
runs eval xl --mode chunks --tgt_len 32
prints "^$found bits per character\$"
runs context xl --mode blocks --lengths 5,20 --data text --eval_split 1 --out blocks.svg
prints '^ +20 '

refuses '--lengths: 8 after 8, expected them to rise' context xl --lengths 4,8,8
refuses '--lengths: 0 after 0, expected them to rise' context xl --lengths 0
refuses '--lengths: 9, but vanilla has learned positions for only 8' context xl vanilla --lengths 9
refuses '--lengths: 100000, expected less than the' context xl --lengths 8,100000
refuses '--lengths' context xl --lengths some
refuses '--mode chunks, expected exact or blocks' context xl --mode chunks
refuses '--tokens 0, expected at least 1' context xl --tokens 0
refuses '--tokens: --mode blocks scores the whole text' context xl --mode blocks --tokens 5
refuses 'missing/best.safetensors: no such file' context xl missing
refuses 'missing: No such file' context xl --data missing
refuses '--out xl: expected the name of a file' context xl --out xl
refuses 'RUN' context
trained other --eval_split 0.3
refuses 'other: scored on another text than xl; --data gives all runs the same text' context xl other
runs context xl other --data text --eval_split 0.2 --tokens 20 --lengths 2,4


# --- Names that mean something to a shell or to XML are only names.

for name in '|echo>PWNED #' '$(echo>PWNED)' '<b>&amp; %s'; do
  cp -r shaw "$name"
  for command in plot context 'attention --text line' positions; do
    runs $command "$name" --out "$name.svg"
    python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$name.svg" ||
      fail "$command makes a malformed $name.svg"
  done
  [ ! -e PWNED ] || fail "a command in the name $name was run"
done
runs plot '<b>&amp; %s' --out names.svg
shows names.svg '&lt;b&gt;&amp;amp; %s'

# --- Pictures are whole files of their own.

# What lies beside a picture, whatever its name, stays; a link to elsewhere is not followed.
echo mine > beside.svg.draft
echo mine > elsewhere
ln -s elsewhere linked.svg.draft
for name in beside linked; do
  runs plot xl --out $name.svg
  [ "$(cat $name.svg.draft)" = mine ] || fail "$name.svg.draft was changed"
done
[ "$(ls -A | grep -c '^\.shiftgrad')" = 0 ] || fail 'a temporary file was left'

# The same numbers make the same picture, and an old one stays if a new one cannot be drawn.
runs plot xl --out first.svg
runs plot xl --out second.svg
cmp first.svg second.svg || fail 'two pictures of one run differ'
old=$(cksum first.svg)
refuses 'missing/metrics.jsonl: No such file' plot missing --out first.svg
[ "$(cksum first.svg)" = "$old" ] || fail 'a picture that could not be drawn changed an old one'

# Bytes that XML cannot hold are shown by their numbers.
cp -r shaw "$(printf 'bell\007 tab\t line\nhigh\377 \357\277\277')"
runs plot "$(printf 'bell\007 tab\t line\nhigh\377 \357\277\277')" --out control.svg
shows control.svg 'bell\x07 tab\x09 line\x0Ahigh\xFF \xEF\xBF\xBF'
python3 -c 'import xml.dom.minidom; xml.dom.minidom.parse("control.svg")' ||
  fail 'control characters make a picture malformed'

[ "$failures" = 0 ]
