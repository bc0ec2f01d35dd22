#!/bin/sh
# Runs examples/studies/claims.sh with the programs $1 to $4 on models that are too small to show anything, and looks
# at the report; then with mistakes.
set -eu
# The programs say so if it keeps OpenBLAS from the CPU's best kernels.
unset OPENBLAS_CORETYPE
script=$(realpath "$(dirname "$0")/../../examples/studies/claims.sh")
export CHAR_LM=$(realpath "$1") SEQ2SEQ=$(realpath "$2") CONVOLUTION=$(realpath "$3")
export RESTARTED=$(realpath "$4")
export TRAINING='--n_layer 2 --n_embd 16 --n_head 2 --batch_size 2 --max_iters 2 --eval_iters 1'
python3 -c 'import numpy, scipy' 2> /dev/null || { echo 'SKIPPED: no SciPy for python3'; exit 77; }
export SEEDS=3 OTHER_SEEDS=2
export TRANSLATING='--n_layer 1 --n_embd 16 --max_iters 2' CONVOLVING='--max_iters 1' RESTARTING='--max_iters 1'
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
awk 'BEGIN { for (n = 0; n < 1500; n++) print "line " n * n % 100 }' > text

fail() {
  echo "FAILED: $1"
  exit 1
}

# sees COUNT PATTERN: as many lines of the report are like this.
sees() {
  found=$(grep -Ec "$2" report) || true
  [ "$found" = "$1" ] || fail "$found lines and not $1 are $2: $(cat report)"
}

# errs MESSAGE PROGRAM ARGUMENT...: the program ends with status 2, and this as its only line.
errs() {
  message=$1
  shift
  status=0
  "$@" > output 2>&1 || status=$?
  [ "$status: $(cat output)" = "2: $message" ] || fail "$*: $status: $(cat output)"
}
errs 'convolution: --data is required: text file' "$CONVOLUTION"
errs 'convolution: --layer attention, expected rnn, gru, lstm or convolution' "$CONVOLUTION" --data text --layer attention
errs 'convolution: --window 0, expected at least 1' "$CONVOLUTION" --data text --window 0
errs 'restarted_positions: missing: No such file or directory' "$RESTARTED" --data missing
errs 'restarted_positions: --positions none, expected relative or absolute' "$RESTARTED" --data text --positions none

# The statistics, against values that were worked out apart: difference, standard error and p.
PYTHONPATH=$(dirname "$script")/claims PYTHONDONTWRITEBYTECODE=1 python3 - << 'END' || fail 'statistics'
from statistics_of_scores import deviation, t_test

def tested(expected, paired, less, more, margin=0.0):
    found = "%.6f %.6f %.6f" % t_test(less, more, paired, margin)
    assert found == expected, f"t_test of {less} and {more}: {found} and not {expected}"

tested("1.750000 1.216210 0.209270", False, [1, 2, 3, 4], [2, 4, 4, 7])
tested("1.750000 0.478714 0.035353", True, [1, 2, 3, 4], [2, 4, 4, 7])
tested("0.016000 0.011372 0.261514", False, [2.888, 2.906, 2.870], [2.904, 2.912, 2.896])
tested("-1.000000 0.064550 0.000651", False, [2.1, 2.0, 1.9], [1.0, 1.05, 0.95])
tested("4.000000 1.290994 0.054787", False, [1, 2, 3], [4, 6, 8])
tested("5.000000 1.290994 0.031562", False, [1, 2, 3], [4, 6, 8], 1)
tested("2.500000 1.271482 0.094903", False, [1, 2, 3, 4], [2, 4, 4, 7, 8])
tested("-2.500000 1.271482 0.094903", False, [2, 4, 4, 7, 8], [1, 2, 3, 4])
tested("0.000000 0.000000 1.000000", False, [2, 2, 2], [2, 2, 2])
tested("1.000000 0.000000 0.000000", False, [2, 2, 2], [3, 3, 3])
tested("1.000000 0.000000 1.000000", False, [2], [3])
assert "%.4f" % deviation([1, 2, 3, 4]) == "1.2910" and deviation([7]) == 0
END

# Holm's correction: the smallest p counts as often as there are comparisons, and none comes below one before it.
PYTHONPATH=$(dirname "$script")/claims PYTHONDONTWRITEBYTECODE=1 python3 - << 'END' || fail 'correction'
from decisions import holm
assert holm([0.02, 0.001, 0.03, 0.025]) == [0.06, 0.004, 0.06, 0.06], holm([0.02, 0.001, 0.03, 0.025])
assert holm([0.7, 0.6]) == [1.0, 1.0] and holm([0.01]) == [0.01]
END

# Each claim has one comparison that decides it.
"$script" --list > listed || fail 'no list'
[ "$(grep -c '^    [0-9]* trainings, about [0-9]* min of one core, decided by: ' listed)" = 16 ] || fail "$(cat listed)"
grep -q '^    22 trainings, .* decided by: .* absolute ones do not$' listed || fail "$(cat listed)"  # 2 x 3 and 8 x 2
grep -q '^    28 trainings, .* without (c) and (d)$' listed || fail "$(cat listed)"  # 2 x 3 x 3 and 5 x 2
grep -q '^    8 trainings, .* second target help$' listed || fail "$(cat listed)"
grep -q '^    18 trainings, about 19 min of one core, .* in segments of 16, ' listed || fail "$(cat listed)"  # 18 scores
grep -q '^all: [0-9]* trainings, about [0-9]* min of one core, ' listed || fail "$(cat listed)"
grep -qx 'memory: A memory helps' listed || fail "$(cat listed)"
# It has the commands of each claim.
for command in 'char_lm train --model transformer_xl --mem_len 0 --n_layer' 'seq2seq train --encoder rope --n_layer 1' \
  'seq2seq train --data marked-letters --encoder rope --max_iters 800 --dropout 0 --n_layer 1' \
  'convolution --data TEXT --layer gru --window 3' 'char_lm eval OUT_DIR --mem_len 128' 'char_lm eval OUT_DIR --losses FILE' \
  'char_lm eval OUT_DIR --mode memory --tgt_len 64 --losses FILE' 'char_lm context OUT_DIR… --tokens 20000'; do
  grep -q "^    $command" listed || fail "--list has no $command: $(cat listed)"
done

# One claim of each program.
"$script" text memory both_directions local_rnn restarted_positions > report 2> progress || fail "$(cat progress)"
sees 4 '^## '
compared='\([+-][0-9]+\.[0-9]{3} ± [0-9]+\.[0-9]{3}, p (<|=) [01]\.[0-9]{4}\)'
sees 4 "^\\| \\[.*\\]\\(#.*\\) \\| (holds|the opposite holds|not at this size) \\| – \\| 1 to [23] \\| [^|]* \\| (< )?[01]\\.[0-9]{4} \\| 1(, 1 no)? \\| [0-9]+ \\| [0-9]+ \\|$"
sees 4 "^\\*\\*(holds|the opposite holds|not at this size)\\*\\*: .* $compared$"
sees 4 '\(`claims\.sh TEXT [a-z_]+`\)$'
sees 2 '^\| trained and scored .* \| [0-9.]+ ± [0-9.]+ \(3\) \| [0-9.]+ ± [0-9.]+ \(2\) \| [0-9]+\.[0-9]{3} ± [0-9]\.[0-9]{3} \(2\) \|$'
sees 4 '^\| trained with.*, scored .* \| – \| [0-9]+\.[0-9]{3} ± [0-9]\.[0-9]{3} \(2\) \| – \|$'
sees 2 '^\| (LocalRNN, tanh|convolution).*( \| [0-9]\.[0-9]{3} ± [0-9]\.[0-9]{3} \([232]\)){3} \|$'
sees 17 "^- (yes|no|opposite): .* $compared$"
sees 1 ' With 21 comparisons, about 0.2 would be yes or opposite by chance alone\.$'
sees 0 '^- asked at '
grep -q '^\[####################\] 66 of 66 trainings, ' progress || fail "$(cat progress)"

awk '!($1 > 0) { exit 1 }' claims/*.seconds || fail "other times: $(cat claims/*.seconds)"

# The report is made from the results beside the runs.
PYTHONPATH=$(dirname "$script")/claims PYTHONDONTWRITEBYTECODE=1 python3 - << 'END' > same || fail 'no results'
import json, page
print(page.page(json.load(open("claims/results.json"))), end="")
END
cmp same report || fail 'another report from results.json'

# What is there is not made again; what was broken off or has other flags is.
rm claims/xl-2.done
sed -i 's/--mem_len 0/--mem_len 1/' claims/xl_short_blocks-3.done
"$script" text memory > again 2> progress
[ "$(sed -n 's/.*: //p' progress | sort)" = "claims/xl-2
claims/xl_short_blocks-3" ] || fail "$(cat progress)"
awk '/^## /{ inside = /A memory helps/ } inside' report | sed '$d' > before
sed -n '/^## /,$p' again | diff before - || fail 'another report'

# A new decision has fresh seeds.
FIRST_SEED=1001 "$script" text restarted_positions > report 2> progress || fail "$(cat progress)"
[ "$(find claims -name 'restarted_absolute_*.done' -newer again | wc -l)" = 6 ] || fail "$(ls claims)"
[ -e claims/restarted_absolute_64-1003.done ] || fail "$(ls claims)"
grep -q '"seeds": \[1001, 1003\]' claims/results.json || fail "$(cat claims/results.json)"
"$script" --list | grep -c 'trainings, about' | grep -qx 17 || fail 'other lists'

# The models of a seed are scored together.
"$script" text effective_context > report 2> progress || fail "$(cat progress)"
sees 3 '^\| .*( \| [0-9]+\.[0-9]{3} ± [0-9]+\.[0-9]{3} \(3\)){2} \|$'

# A reason is for the outcomes that it names.
mkdir -p examples/studies
(cd "$(dirname "$script")" && cp -r claims.sh claims arguments.sh tables.py "$OLDPWD/examples/studies")
sed -i "s/^claims='/&numbers /" examples/studies/claims.sh
cat > number << 'END'
#!/bin/sh
sed -n 's/.*--number \([0-9]\).*/\1 bits per character/p' << ARGUMENTS
$*
ARGUMENTS
END
chmod +x number
# explains COUNT PATTERN REASONS: as many lines of a report on "1 < 2, 2 < 1" with these reasons are like this.
# Scores without a deviation differ for certain.
explains() {
  cat > examples/studies/claims/numbers.sh << END
claim 'Numbers' 'No paper.'
for n in 1 2; do convolved number_\$n --number \$n; done
table 'Numbers:' bits
for n in 1 2; do
  row "\$n"
  score number_at_\$n logged number_\$n
done
decides number_at_1 number_at_2 '1 is below 2'
expect number_at_2 number_at_1 '2 is below 1'
$3
END
  CONVOLUTION=$place/number CONVOLVING= examples/studies/claims.sh text numbers > report 2> progress || fail "$(cat progress)"
  sees 1 '^\*\*holds\*\*: 1 is below 2 \(\+1\.000 ± 0\.000, p < 0\.0001\)$'
  sees 1 '^- opposite: 2 is below 1 \(-1\.000 ± 0\.000, p < 0\.0001\)$'
  sees "$1" "$2"
}
explains 1 '^Thus it is\.$' "because 'yes opposite' 'Thus it is.'"
explains 0 '^These outcomes' "because 'yes opposite' 'Thus it is.'"
explains 0 '^Thus it is' "because 'no yes' 'Thus it is.'"
explains 1 '^These outcomes are not explained: the reason in `examples/studies/claims/numbers.sh` is for others\.$' \
  "because 'no yes' 'Thus it is.'"
explains 1 '^Thus it is\.$' "because 'no yes' 'Else.'
because 'yes opposite' 'Thus it is.'
because 'no no' 'Never.'"
explains 0 '^(Else|Never|These outcomes)' "because 'no yes' 'Else.'
because 'yes opposite' 'Thus it is.'
because 'no no' 'Never.'"
explains 0 '^(Thus|These)' ''
# What decided the claim before counts too: those of the same text and flags, by Holm's correction.
# remembers SENTENCE P: the history has one comparison of "1 is below 2" and another.
remembers() {
  python3 - "$1" "$2" << 'END'
import json, sys
results = json.load(open("claims/results.json"))
row = {"commit": "abcdef0", "setting": "before", "seeds": [1, 2], "difference": 0.5, "error": 0.1}
rows = [row | {"sentence": sys.argv[1], "p": float(sys.argv[2])}, row | {"sentence": "1 is below 2", "setting": "now", "p": 0.2}]
history = {"bytes": results["bytes"], "flags": results["flags"], "claims": {"numbers": rows}}
json.dump(history, open("examples/studies/claims/history.json", "w"))
END
  CONVOLUTION=$place/number CONVOLVING= examples/studies/claims.sh text numbers > report 2> progress || fail "$(cat progress)"
}
remembers 'it was small' 0.1
sees 1 '^- asked at abcdef0 \(before, seeds 1 to 2\): \+0\.500 ± 0\.100, p = 0\.1000, by Holm 0\.2000$'
sees 1 '^\*\*holds\*\* in 1 of 2 settings: 1 is below 2 '
sees 1 '^\| \[Numbers\].* \| holds in 1 of 2 settings \| now \| 1 to 3 \| [^|]* \| < 0\.0003 \| 3, 2 no \| [0-9]+ \| [0-9]+ \|$'
remembers 'it was small' 0.001
sees 1 '^\*\*holds\*\*: 1 is below 2 '
sed -i 's/"bytes": [0-9]*/"bytes": 1/' examples/studies/claims/history.json
CONVOLUTION=$place/number CONVOLVING= examples/studies/claims.sh text numbers > report 2> progress || fail "$(cat progress)"
sees 0 '^- asked at '
sed -i "\$s/.*/because 'yes' 'Thus it is.'/" examples/studies/claims/numbers.sh
if CONVOLUTION=$place/number CONVOLVING= examples/studies/claims.sh text numbers > report 2> progress; then fail 'one outcome of two'; fi
grep -qx "claims.sh: numbers: a reason for 'yes', but there are 2 comparisons" progress || fail "$(cat progress)"

# A training that fails ends the script, and is named.
if CHAR_LM=/bin/false "$script" text terms > output 2> progress; then fail 'a failed training'; fi
grep -q '^claims.sh: claims/.* failed: ' progress || fail "$(cat progress)"

# refuses MESSAGE ARGUMENT...
refuses() {
  message=$1
  shift
  if "$script" "$@" > output 2>&1; then fail "taken: $*"; fi
  grep -qF "claims.sh: $message" output || fail "$(cat output)"
}
refuses 'no text, expected: claims.sh TEXT [CLAIM…]'
refuses 'missing: cannot be read' missing
refuses 'speed: no such claim, expected one of: equal_context memory ' text speed
CHAR_LM=missing refuses 'missing: no such program; build it, or name it in CHAR_LM' text
RESTARTED=missing refuses 'missing: no such program; build it, or name it in RESTARTED' text
