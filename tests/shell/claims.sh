#!/bin/sh
# Runs examples/claims.sh with the program $1 on models that are too small to show anything, and looks at the
# tables; then with mistakes.
set -eu
script=$(realpath "$(dirname "$0")/../../examples/claims.sh")
export CHAR_LM=$(realpath "$1")
export TRAINING='--n_layer 1 --n_embd 16 --n_head 2 --batch_size 2 --max_iters 2 --eval_iters 1'
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
awk 'BEGIN { for (n = 0; n < 1500; n++) print "line " n * n % 100 }' > text

fail() {
  echo "FAILED: $1"
  exit 1
}

"$script" text > report 2> progress || fail "$(cat progress)"
rows=$(grep -Ec '^\| [^|]+ \| [0-9]\.[0-9]{3} \| [0-9]\.[0-9]{3} \|$' report) || true
[ "$rows" = 10 ] || fail "$rows rows: $(cat report)"
[ "$(grep -c '^training' progress)" = 15 ] || fail "trainings: $(cat progress)"

# What is there is not made again; what was broken off is.
rm claims/xl-2.done
"$script" text memory > again 2> progress
[ "$(grep '^training' progress)" = 'training claims/xl-2: --model transformer_xl' ] || fail "$(cat progress)"
head -n "$(wc -l < again)" report | cmp -s - again || fail "another table: $(cat again)"

# refuses MESSAGE ARGUMENT...
refuses() {
  message=$1
  shift
  if "$script" "$@" > output 2>&1; then fail "taken: $*"; fi
  [ "$(cat output)" = "claims.sh: $message" ] || fail "$(cat output)"
}
refuses 'no text, expected: claims.sh TEXT [CLAIM…]'
refuses 'missing: cannot be read' missing
refuses 'speed: no such claim, expected memory equal_context' text speed
CHAR_LM=missing refuses 'missing: no such program; build it, or name it in CHAR_LM' text
