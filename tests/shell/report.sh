#!/bin/sh
# Lets char_lm, the program $1, write reports of runs of all kinds, and refuse what it cannot report.
reads=$(realpath "$(dirname "$0")/../examples/apps/runs/read_report.py")
. "$(dirname "$0")/char_lm_checks.sh"

awk 'BEGIN { for (n = 0; n < 300; n++) print "line " n * n % 100 " <&></script>" }' > text
# trained FOLDER FLAG...: a run of a tiny model.
trained() {
  folder=$1
  shift
  case " $*" in *" --max_iters "*) ;; *) set -- "$@" --max_iters 4 ;; esac
  runs train --data text --n_layer 2 --n_head 2 --n_embd 16 --block_size 8 --batch_size 4 \
    --warmup_iters 2 --eval_interval 2 --log_interval 1 --out_dir "$folder" "$@"
}
# holds REPORT WHAT...
holds() {
  python3 "$reads" "$@" || fail "the report $*"
}
trained xl
trained vanilla --model transformer
trained long --max_iters 8
trained rnn --model local_rnn
trained 'deep/<b>&amp; `x`' --model labml

runs report xl --tokens 20
prints '^wrote report.html$'
holds report.html runs=xl nothing=0 attention=1 metrics=xl/metrics.jsonl training sample distances context \
  differ=data,out_dir,n_layer,n_head,n_embd,block_size,batch_size,max_iters,warmup_iters,eval_interval,log_interval
# The context is scored as `context` scores it, over 2,000 characters of a longer text.
awk 'BEGIN { for (n = 0; n < 3000; n++) print n * n }' > long_text
runs train --data long_text --n_layer 1 --n_head 2 --n_embd 16 --block_size 8 --batch_size 4 --max_iters 2 \
  --warmup_iters 1 --eval_interval 2 --out_dir scored
runs report scored --out scored.html
"$char_lm" context scored --lengths 1,2,4,8,16 --json > scored.json || fail 'context --json'
grep -q '"characters": *2000' scored.json || fail "not 2000 characters: $(cat scored.json)"
holds scored.html runs=scored scored=scored.json
# Of runs of unequal length, the longer one is not the better one for that.
best=$(for run in xl long; do
  sed -n "s/.*\"step\":4,.*\"validation_loss\":\(.*\)}/\1 $run/p" $run/metrics.jsonl
done | sort -g | sed -n '1s/.* //p')
runs report long xl --tokens 20 --out unequal.html
holds unequal.html runs=long,xl "shortest=4:$best"
# vanilla has no distances, rnn neither these nor attention.
runs report xl vanilla rnn --tokens 20 --out all.html
holds all.html runs=xl,vanilla,rnn nothing=3 attention=1 training sample distances context
runs report 'deep/<b>&amp; `x`' --checkpoint last --text 'line 1 </' --prompt 'line' --length 30 --tokens 20 --out odd.html
holds odd.html 'runs=<b>&amp; `x`' nothing=0 attention=1 training sample distances context
cp -r xl "$(printf 'bell\007 high\377')"
runs report "$(printf 'bell\007 high\377')" --tokens 20 --out bytes.html
holds bytes.html 'runs=bell\x07 high\xFF'

# The same runs make the same report, and it takes the place of an old one.
runs report xl --tokens 20 --out again.html
cmp report.html again.html || fail 'two reports of one run differ'
runs report vanilla --tokens 20 --out again.html
holds again.html runs=vanilla

# Without its text, a run is reported as far as it goes, on what the model wrote.
mv text moved
runs report xl --out alone.html
holds alone.html runs=xl nothing=1 attention=1 sample distances
mv moved text

# With --follow a page goes on with a training, is whole at all times, and stops at a signal or when the training ends.
# Without a training it is a page as any other.
runs report xl --tokens 20 --follow --out again.html
cmp report.html again.html || fail 'a report that follows nothing differs'
"$char_lm" train --data text --n_layer 1 --n_head 2 --n_embd 16 --block_size 8 --batch_size 4 --max_iters 10000000 \
  --eval_interval 1000 --log_interval 100 --out_dir goes_on > training 2>&1 &
training=$!
awaits $training test -e goes_on/last.safetensors || fail "no training: $(cat training)"
# A report may begin before the training has measured anything, or has a best checkpoint.
"$char_lm" report goes_on --follow --tokens 20 --out goes_on.html > follower 2>&1 &
follower=$!
awaits $follower test -e goes_on.html || fail "no page: $(cat follower)"
holds goes_on.html runs=goes_on follows nothing=1 training sample distances
# changed: the page is another one than $before. It ends with its last line.
changed() {
  tail -n 1 goes_on.html | grep -qx '</html>' || touch torn
  [ "$(cksum goes_on.html)" != "$before" ]
}
for _ in 1 2 3; do
  before=$(cksum goes_on.html)
  awaits $follower changed || fail "the page does not go on: $(cat follower)"
done
[ ! -e torn ] || fail 'a page that is not whole'
kill -TERM $follower
status=0
wait $follower || status=$?
[ $status = 143 ] || fail "status $status of a report that was stopped: $(cat follower)"
holds goes_on.html runs=goes_on nothing=1 training sample distances
"$char_lm" report goes_on --follow --tokens 20 --out goes_on.html > follower 2>&1 &
follower=$!
awaits $follower grep -q '^writes goes_on.html while the training goes on$' follower || fail "$(cat follower)"
kill -TERM $training
wait $training
wait $follower || fail "status $? of a report whose training has ended: $(cat follower)"
tail -n 1 follower | grep -qx 'wrote goes_on.html' || fail "the last line of: $(cat follower)"
holds goes_on.html runs=goes_on nothing=0 training sample distances context

# Many runs stay below 3 MB.
many=
for n in $(seq 40); do many="$many xl"; done
# shellcheck disable=SC2086
runs report $many --tokens 5 --length 20 --out many.html
holds many.html

old=$(cksum all.html)
refuses 'missing/best.safetensors: no such file' report xl missing
refuses '--out xl: expected the name of a file' report xl --out xl
refuses '--out no/report.html: there is no folder' report xl --out no/report.html
refuses "--text: the model does not know the character 'L', number 1" report xl --text Line
refuses "--prompt: the model does not know the character 'L', number 1" report xl --prompt Line
refuses '--length 0, expected at least 1' report xl --length 0
refuses '--tokens 0, expected at least 1' report xl --tokens 0
refuses '--checkpoint first, expected best or last' report xl --checkpoint first
rm vanilla/metrics.jsonl
refuses 'vanilla/metrics.jsonl: No such file' report xl vanilla --out all.html
refuses 'RUN' report
[ "$(cksum all.html)" = "$old" ] || fail 'a refused report changed an old one'
runs report --help
prints '^Write a page about runs'

[ "$failures" = 0 ]
