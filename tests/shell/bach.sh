#!/bin/sh
# Runs the scripts of examples/studies/bach on a few invented chorales: from JSON to text, to MIDI and back, to a
# picture; then table.py with the program $1 on models that are too small to show anything; then mistakes.
# What needs Python or its mido is skipped without them.
set -eu
scripts=$(realpath "$(dirname "$0")/../../examples/studies/bach")
export CHAR_LM=$(realpath "$1")
export TRAINING='--n_layer 1 --n_embd 16 --n_head 2 --d_inner 32 --batch_size 2 --block_size 16 --max_iters 2'
export SCORING='--block 16 --stride 5'
export PYTHONDONTWRITEBYTECODE=1
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

fail() {
  echo "FAILED: $1"
  exit 1
}

python3 -c '' 2> /dev/null || { echo 'SKIPPED: no python3'; exit 77; }
# A soprano from 60 to 72 in the first, and a higher one in the second; rests in both ways of writing them.
cat > chorales.json << 'END'
{"train": [[[72, 60, 55, -1], [72, 60, 55, 40], [60, 62, 53, 40], [60, 62, -1, -1]],
           [[74, 64, 57, 45], [74, 64, 57, NaN]]],
 "valid": [[[72, 60, 55, 40], [60, 60, 55, 40], [60, 62, 55, 40]], [[74, 62, 55, 40]]],
 "test": [[[72, 60, 55, 40]]]}
END
"$scripts/texts.py" chorales.json plain > output || fail 'texts.py'
printf 'H<7 H<7(<>5(<>  \nJ@9-J@9 \n' | cmp - plain/train.txt || fail 'train.txt'
printf 'H<7(<<7(<>7(\nJ>7(\n' | cmp - plain/valid.txt || fail 'valid.txt'
grep -qx 'train.txt: 2 chorales, 24 notes' output || fail "$(cat output)"
# Up by one or two, no voice but the first chorale's stays in its range: the second one's are the highest.
"$scripts/texts.py" chorales.json more --transpose 2 > output
printf 'H<7 H<7(<>5(<>  \nJ@9-J@9 \nI=8 I=8)=?6)=?  \nI?8,I?8 \nJ>9 J>9*>@7*>@  \nH>7+H>7 \n' |
  cmp - more/train.txt || fail "transposed: $(cat more/train.txt)"
cmp plain/valid.txt more/valid.txt || fail 'transposed validation'

# refuses MESSAGE COMMAND...
refuses() {
  message=$1
  shift
  if "$@" > output 2>&1; then fail "taken: $*"; fi
  [ "$(cat output)" = "$message" ] || fail "$(cat output)"
}
echo '{"train": [[[60, 60]]], "valid": [], "test": []}' > two.json
refuses 'texts.py: a step without four voices; this takes Jsb16thSeparated.json' \
  "$scripts/texts.py" two.json nowhere
echo '{"train": [], "valid": [[[60, 60, 60, 60]]], "test": []}' > new.json
refuses 'texts.py: valid has pitches that train has not: 60' "$scripts/texts.py" new.json nowhere
printf 'H<7' > short
refuses 'piano_roll.py: short: 3 characters, expected four for each 16th' \
  "$scripts/piano_roll.py" short out.svg
refuses 'piano_roll.py: plain/train.txt: 2 chorales, expected one' \
  "$scripts/piano_roll.py" plain/train.txt out.svg

# Line feeds around a chorale are no part of it. Five notes and two rests in the soprano's track and so on.
printf '\nH<7 H<7(<>5(<>  \n' > chorale
"$scripts/piano_roll.py" chorale chorale.svg
python3 -c 'import xml.dom.minidom as dom; dom.parse("chorale.svg")' || fail 'the picture is not XML'
[ "$(grep -o 'v5H[0-9]*z' chorale.svg | wc -l)" = 7 ] || fail "notes: $(cat chorale.svg)"

# The first chorale has a change on its second 16th, three on the third and two on the last; the second one has one, on
# its second 16th.
"$scripts/beat.py" plain/train.txt > output
grep -qx '7 changes: 0.0% on the beat, 42.9% on the eighth, 57.1% between' output || fail "$(cat output)"
printf 'J>7(J>7(' > held
refuses 'beat.py: no note changes in these chorales' "$scripts/beat.py" held

"$scripts/table.py" plain > report 2> progress || fail "$(cat progress)"
rows=$(grep -Ec '^\| `[a-z_]+` \| [0-9]+ \| [0-9.]+ \| [0-9]\.[0-9]{3} \| [0-9]\.[0-9]{3} \|$' report) || true
[ "$rows" = 2 ] || fail "$rows rows: $(cat report)"
[ "$(grep -c '^training' progress)" = 6 ] || fail "trainings: $(cat progress)"
# Its results give the same table.
PYTHONPATH=$scripts/.. python3 - << 'END' > same || fail 'no results'
import json, tables
[table] = json.load(open("bach/results.json"))["tables"].values()
assert table["command"] == "examples/studies/bach/table.py" and table["date"]
print(tables.table(table))
END
cmp same report || fail 'another table from results.json'
# What is there is not made again; what was broken off is.
rm bach/sinusoid-2.done
"$scripts/table.py" plain sinusoid > again 2> progress
[ "$(grep '^training' progress)" = 'training bach/sinusoid-2' ] || fail "$(cat progress)"
for name in music_transformer sinusoid; do
  # Blocks that begin one token apart see each note as the slow mode sliding does.
  run=bach/$name-1
  "$scripts/score.py" "$CHAR_LM" $run plain/valid.txt --block 8 --stride 1 > score
  "$CHAR_LM" eval $run --data plain/valid.txt --eval_split 1 --mode sliding --tgt_len 7 --losses losses > output
  python3 - << 'END' || fail "$name: $(cat score)"
text = open("plain/valid.txt").read()[1:]
losses = [float(line) for line in open("losses")]
notes = [loss for loss, one in zip(losses, text, strict=True) if one != "\n"]
score = float(open("score").read())
assert abs(score - sum(notes) / len(notes)) < 2e-4, sum(notes) / len(notes)
END
done
refuses 'score.py: --stride: expected at least 1 and less than --block' \
  "$scripts/score.py" "$CHAR_LM" bach/sinusoid-1 plain/valid.txt --block 8 --stride 8
"$scripts/score.py" "$CHAR_LM" missing plain/valid.txt > output 2>&1 && fail 'a missing run was scored'
grep -q '^score.py: .*missing' output || fail "$(cat output)"
refuses 'table.py: no folder, expected: table.py FOLDER [MODEL…]' "$scripts/table.py"
refuses 'table.py: missing/train.txt: cannot be read; texts.py writes it' "$scripts/table.py" missing
settings=$(cd "$scripts" && ls ./*.json | sed -n 's,^\./\(.*\)\.json$,\1,p' | grep -vx results | LC_ALL=C sort | xargs)
refuses "table.py: lstm: no such model, expected one of: $settings" "$scripts/table.py" plain lstm
CHAR_LM=missing refuses 'table.py: missing: no such program; build it, or name it in CHAR_LM' \
  "$scripts/table.py" plain

python3 -c 'import mido' 2> /dev/null ||
  { echo 'SKIPPED: Python has no mido; all but midi.py was tested'; exit 77; }
# From text to MIDI and back, each chorale is the same, with rests at both ends and voices that never sing.
printf 'J>7(\n' > short
printf '    J>7(    ' > rests
printf 'H<7 H<7 ' > trio
for text in chorale short rests trio; do
  "$scripts/midi.py" write $text chorale.mid
  "$scripts/midi.py" read chorale.mid > back
  grep . $text | cmp - back || fail "$text: $(cat back)"
done
# Equal pitches in a row are one note; where a file strikes them again, the text is the same.
"$scripts/midi.py" write chorale chorale.mid
python3 - << 'END' || fail 'notes of the MIDI file'
import mido

file = mido.MidiFile("chorale.mid")
assert [sum(message.type == "note_on" for message in track) for track in file.tracks] == [0, 2, 2, 2, 1]
assert abs(file.length - 60 / 72) < 1e-5, file.length
soprano = file.tracks[1]
first = [message.type for message in soprano].index("note_off")
off = soprano[first].copy(time=120)
soprano[first:first] = [off, soprano[first - 1].copy(time=0)]
soprano[first + 2] = off
file.save("struck.mid")
soprano[first].time = 100
file.save("uneven.mid")
END
"$scripts/midi.py" read struck.mid > back
grep . chorale | cmp - back || fail "struck again: $(cat back)"
refuses 'midi.py: an event at tick 100, off the 16th grid' "$scripts/midi.py" read uneven.mid
echo text > no.mid
"$scripts/midi.py" read no.mid > output 2>&1 && fail 'text was read as MIDI'
grep -q '^midi.py: no.mid: ' output || fail "$(cat output)"
