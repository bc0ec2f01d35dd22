#!/bin/sh
# Checks the vectors of tests/vectors: the program $1, run_layer_f64, makes the same again, the port in NumPy
# agrees with them, each wrong shift of the page is caught by the vector that it names, and so is a damaged file.
set -eu
python3 -c 'import numpy, safetensors' 2> /dev/null || { echo 'SKIPPED: Python has no numpy or no safetensors'; exit 77; }
folder=$(cd "$(dirname "$0")/../../tests/vectors" && pwd)
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$folder"
failures=0
fail() {
  echo "$1"
  failures=1
}

python3 "$folder/make.py" "$1" "$place/files" || fail 'make.py failed'
python3 - "$folder/files" "$place/files" << 'END' || fail 'the vectors are not what run_layer_f64 makes'
import sys
from pathlib import Path
import numpy as np
from check import read
old, new = ({path.name: path for path in Path(folder).iterdir()} for folder in sys.argv[1:])
assert sorted(old) == sorted(new), set(old) ^ set(new)
for name in old:
    (about, tensors), (about_new, tensors_new) = read(old[name]), read(new[name])
    assert about == about_new and sorted(tensors) == sorted(tensors_new), name
    for each in tensors:
        np.testing.assert_allclose(tensors_new[each], tensors[each], rtol=1e-12, atol=1e-13, err_msg=f"{name}: {each}")
assert sum(path.stat().st_size for path in old.values()) < 2**20
END
python3 "$folder/check.py" > "$place/output" || fail "check.py: $(cat "$place/output")"
[ "$(grep -c 'not computed here' "$place/output")" = 9 ] || fail 'check.py leaves out more than AFT-conv and the local RNNs'
[ "$(wc -l < "$folder/check.py")" -lt 60 ] || fail 'check.py has 60 lines or more'
python3 "$folder/wrong_shifts.py" > "$place/output" || fail "wrong_shifts.py: $(cat "$place/output")"

# The page says of which version they are, wherever it does.
version=$(cat "$folder/VERSION")
for said in $(sed -n "s/.*vectors[ -]\([0-9]*\.[0-9]*\).*/\1/p" "$folder/README.md"); do
  [ "$said" = "$version" ] || fail "README.md: the vectors are $said, expected $version, as VERSION says"
done

# Each vector that the page names for a wrong shift is one that caught something, and the other way.
sed -n '/^## Wrong shifts/,$s/.*| `\([a-z_]*\)` |$/\1/p' "$folder/README.md" > "$place/page"
sed 's/.*): \([a-z_]*\) is off by.*/\1/' "$place/output" > "$place/run"
cmp -s "$place/page" "$place/run" || fail "the page has $(cat "$place/page"), the script $(cat "$place/run")"

# A gradient that is wrong, and an output, are found.
for tensor in grad.param.content_bias output; do
  python3 - "$folder/files/transformer_xl.safetensors" "$place/damaged" "$tensor" << 'END'
import sys
from pathlib import Path
from check import read
from safetensors.numpy import save_file
about, tensors = read(sys.argv[1])
tensors[sys.argv[3]] = tensors[sys.argv[3]] + 1e-4
Path(sys.argv[2]).mkdir(exist_ok=True)
save_file(tensors, sys.argv[2] + "/damaged.safetensors", about)
END
  ! python3 "$folder/check.py" "$place/damaged" > "$place/output" || fail "a wrong $tensor was not found"
  grep -q '^damaged: wrong' "$place/output" || fail "a wrong $tensor: $(cat "$place/output")"
done
exit "$failures"
