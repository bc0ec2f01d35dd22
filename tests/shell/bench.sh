#!/bin/sh
# Times a step and the shift, once each, with the program $1, looks at the table and the JSON, and makes
# mistakes. Runs a few steps of $2 as a process of its own. Then $3, if there is one, predicts what more threads bring.
set -eu
# The programs say so if it keeps OpenBLAS from the CPU's best kernels.
unset OPENBLAS_CORETYPE
bench=$(realpath "$1") several_processes=$(realpath "$2")
scaling=${3:+$(realpath "$3")}
scripts=$(realpath "$(dirname "$0")/../bench")
export PYTHONDONTWRITEBYTECODE=1
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

python3 -c '' 2> /dev/null || { echo 'SKIPPED: no python3'; exit 77; }

fail() {
  echo "FAILED: $1"
  exit 1
}

"$bench" --runs 1 --threads 1 --only shift > table
head -n 1 table | grep -q . || fail 'no CPU'
grep -q '^multiply-adds of floats ' table || fail "no peaks: $(cat table)"
[ "$(grep -c '^shift: [a-z].* 0  *0 ' table)" = 4 ] || fail "not four ways to shift: $(cat table)"
"$bench" --runs 2 --threads 1 --precision bfloat16 --only 'transformer L4 H4 d128 T64 B12' --json > json
python3 - << 'END' || fail "$(cat json)"
import json
report = json.load(open("json"))
case, = report["cases"]
assert report["threads"] == 1 and report["precision"] == "bfloat16"
assert case["tokens"] == 12 * 64 and len(case["milliseconds"]) == 2 and min(case["milliseconds"]) > 0
assert 0 < case["share_of_peak"] < 1, case
END
"$bench" --runs 1 --threads 1 --only 'writing aft simple' --json > json
"$scripts/writing.py" json --results results.json > table
[ "$(grep -Ec '^\| aft simple \| [0-9]+ \| [0-9]+ \| – \| – \|$' table)" = 1 ] || fail "$(cat table)"
grep -q '"command": "bench --only writing"' results.json || fail "$(cat results.json)"
# refuses MESSAGE COMMAND...
refuses() {
  message=$1
  shift
  if "$@" > output 2>&1; then fail "taken: $*"; fi
  [ "$(cat output)" = "$message" ] || fail "$(cat output)"
}
refuses 'bench: --only nothing: no case has this in its name' "$bench" --only nothing
refuses 'bench: --runs 0, expected at least 1' "$bench" --runs 0
refuses 'bench: --precision float16, expected float32 or bfloat16, did you mean bfloat16?' "$bench" --precision float16
"$several_processes" --n_embd 16 --n_layer 1 --block_size 8 --batch_size 2 --steps 2 > json
python3 - << 'END' || fail "$(cat json)"
import json
report = json.load(open("json"))
assert report["processes"] == 1 and report["tokens"] == 2 * 8 and report["alone"] > 0
END
refuses 'several_processes: transformer_xl_attention: d_model 15 is not divisible by n_head 4' \
  "$several_processes" --n_embd 15
refuses 'several_processes: --steps 0, expected at least 1' "$several_processes" --steps 0

[ -n "$scaling" ] || exit 0
"$scaling" --runs 2 --only 'transformer L4 H4 d128 T64 B12' --region_us 5 --threads 4 > table
python3 - << 'END' || fail "$(cat table)"
head, case, titles, *functions = open("table").read().splitlines()
one, span, *cells = case.removeprefix("transformer L4 H4 d128 T64 B12").replace("%", "").split()
one, span = float(one), float(span)
times, shares = [list(map(float, cells[first::2])) for first in (0, 1)]
counts = [int(word) for word in head.split()[5:]]
assert counts == [2, 4, 8, 16, 32, 64] and len(times) == len(shares) == len(counts), head
for count, time, share in zip(counts, times, shares):
    assert max(span, one / count) <= time + 0.01 and abs(share - 100 * one / time / count) < 1, case
assert times == sorted(times, reverse=True) and times[0] < one, case
# What each function takes adds up to the whole, and what it loses to the difference from an even share.
lost, alone, work = (sum(float(line.split()[n]) for line in functions) for n in range(3))
assert abs(alone + work - one) < 0.01 * one, (alone, work, one)
assert abs(lost + work / 4 - times[1]) < 0.01 * one, (lost, work, times[1])
assert any(line.endswith("attention_backward") for line in functions), functions
END
refuses 'scaling: --only nothing: no case has this in its name' "$scaling" --only nothing
refuses 'scaling: --threads 70000, expected at most 10000' "$scaling" --threads 70000
