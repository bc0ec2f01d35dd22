#!/bin/sh
# Checks that the tables of all pages are what their results give; then, on a project of two pages, that
# tables.py sees and mends what is not so.
set -eu
root=$(realpath "$(dirname "$0")/../..")
export PYTHONDONTWRITEBYTECODE=1
python3 -c '' 2> /dev/null || { echo 'SKIPPED: no python3'; exit 77; }
"$root/examples/studies/tables.py" --check
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
mkdir -p "$place/examples/studies"
cp -r "$root/examples/studies/tables.py" "$root/examples/studies/claims" "$place/examples/studies"
cd "$place"

fail() {
  echo "FAILED: $1"
  exit 1
}

# says TEXT ARGUMENT...: tables.py with these arguments prints this, and fails if it is not empty.
says() {
  text=$1
  shift
  status=0
  found=$(examples/studies/tables.py "$@") || status=$?
  [ "$found" = "$text" ] || fail "tables.py $*: $found"
  [ "$status" = "$([ -z "$text" ] || echo 1)" ] || [ "$status:$text" = 0: ] || fail "tables.py $*: status $status"
}

printf 'model,bits,deviation\nshaw,2.5,0.012\n"a,b",10.0,0.100\n' > comparison.csv
says '' --keep results.json models comparison.csv 'char_lm compare'
grep -q '"command": "char_lm compare"' results.json || fail "$(cat results.json)"
cat > README.md << 'END'
<!-- table results.json models -->

<!-- end of table -->

Others have 7.77 bits.
<!-- numbers of results.json -->
*Here*: 0.100 and 2.51
and 7.78.

Others have 7.77 bits.
END
says 'README.md: 2.51 is not in results.json
README.md: 7.78 is not in results.json
README.md is not what its results give; examples/studies/tables.py fills it' --check
sed -i 's/2\.51/0.012/; s/7\.78/7.8/' README.md
says ''
says '' --check
[ "$(grep '^|' README.md)" = '| model | bits | deviation |
|---|---:|---:|
| shaw | 2.5 | 0.012 |
| a,b | 10.0 | 0.100 |' ] || fail "$(cat README.md)"

# A row replaces the one of the same case; other columns begin the table anew.
python3 - << 'END'
import json, sys
sys.path.insert(0, "examples/studies")
import tables
columns = ["case", {"title": "ratio", "form": "{:.2f} ({:.1f})"}]
for row in ["a", [1, 2]], ["b", None], ["a", [3, 4]]:
    tables.keep_row("results.json", "cases", {}, columns, row)
kept = json.load(open("results.json"))["tables"]
assert "models" in kept and kept["cases"]["rows"] == [["a", [3, 4]], ["b", None]], kept
assert tables.table(kept["cases"]).endswith("| a | 3.00 (4.0) |\n| b | – |"), tables.table(kept["cases"])
tables.keep_row("results.json", "cases", {}, ["case"], ["c"])
assert json.load(open("results.json"))["tables"]["cases"]["rows"] == [["c"]]
assert [tables.three_digits(number) for number in (15.12, 99.96, 1606.7)] == [15.1, 100, 1607]
END

# The page of the claims is made as a whole.
sed -i 's/0\.464/0.465/' examples/studies/claims/README.md
says 'examples/studies/claims/README.md is not what its results give; examples/studies/tables.py fills it' --check
says ''
cmp examples/studies/claims/README.md "$root/examples/studies/claims/README.md"
