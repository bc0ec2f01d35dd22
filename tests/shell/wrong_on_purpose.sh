#!/bin/sh
# Runs wrong_on_purpose, the program $1, for a few steps on a short text, and reads its table.
set -eu
program=$1
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

fail() {
  echo "$1"
  cat "$place/printed"
  exit 1
}

yes 'a few words, and more of them.' | head -n 200 > "$place/text"
"$program" "$place/text" 3 2 > "$place/printed" 2>&1 || fail 'a status other than 0'
# Five forms with their mistakes: a loss in one pass, the same in order where nothing is wrong, none
# in order for the form that sees both ways, and no text of its.
awk -F ' *[|] *' '
  NR <= 2 { next }
  { ++rows; one = $4; order = $5 }
  one !~ /^[0-9]\.[0-9][0-9][0-9] ± [0-9]\.[0-9][0-9][0-9]$/ { print "loss " $0; bad = 1 }
  $2 == "Music, two-way" { ++two_way; if (order != "–" || $6 != "") { print "two-way " $0; bad = 1 } next }
  $3 == "as it should be" { ++right; if (order - one > 0.002 || one - order > 0.002) { print "in order " $0; bad = 1 } }
  order !~ /^[0-9]/ { print "order " $0; bad = 1 }
  END { exit bad || rows != 21 || right != 4 || two_way != 3 }' "$place/printed" || fail 'another table'

if "$program" /nowhere > "$place/printed" 2>&1; then fail 'no error without a text'; fi
grep -qx 'wrong_on_purpose: /nowhere: .*' "$place/printed" || fail 'another error'
if "$program" "$place/text" 0 > "$place/printed" 2>&1; then fail 'no error for 0 steps'; fi
grep -qx 'wrong_on_purpose: STEPS 0, expected a number above 0' "$place/printed" || fail 'another error'
