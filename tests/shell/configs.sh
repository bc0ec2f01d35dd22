#!/bin/sh
# Trains char_lm, the program $1, for a moment with each of the ready configs, in the folder $2.
configs=$(realpath "$2")
. "$(dirname "$0")/char_lm_checks.sh"

awk 'BEGIN { for (n = 0; n < 2500; n++) print "line " n * n % 100 }' > text
for config in "$configs"/*.json; do
  name=$(basename "$config" .json)
  runs train --config "$config" --data text --max_iters 2 --eval_iters 1 --out_dir "$name"
  [ "$(grep -c '^step 2 ' output)" = 1 ] || fail "$name: $(cat output)"
  # What is in the config is what was trained with.
  runs inspect "$name"
  sed -n 's/^ *"\([a-z_0-9]*\)": "*\([^",]*\)"*,*$/\1 \2/p' "$config" |
    grep -v '^max_iters ' > given
  [ "$(wc -l < given)" -gt 5 ] || fail "$name: flags not one a line"
  while read -r flag value; do
    grep -Eq "^  $flag +" output || fail "$name: no $flag in: $(cat output)"
    shown=$(sed -n "s/^  $flag  *//p" output | tail -n 1)
    awk -v a="$shown" -v b="$value" 'BEGIN { exit !(a == b) }' ||
      fail "$name: $flag $shown, not $value"
  done < given
  grep -qF "\`$name\`" "$configs/../README.md" || fail "$name is not on char_lm's page"
done
[ "$(ls -d */ | wc -l)" -ge 8 ] || fail "configs: $(ls "$configs")"

[ "$failures" = 0 ]
