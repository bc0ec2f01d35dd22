#!/bin/sh
# Tries wheels with other versions of Python, PyTorch, numpy and transformers, and prints a row of a table for each:
#
#     .packaging/pythons.sh WHEELS                    # all below; gigabytes are downloaded
#     .packaging/pythons.sh WHEELS 3.10/2.6.0/1.26.4/4.57.6 3.13/newest/newest/newest
#
# WHEELS is a folder that examples/python/wheels.sh has filled. A combination is a Python on the PATH, and a version of
# each of the others, or the newest that pip finds. Of each two columns, the default has the oldest that is promised and
# the newest together. Each row has an environment of its own, where nothing else is installed, and which goes when the
# row is done. PyTorch for CPUs alone is a tenth of the size, where PIP_EXTRA_INDEX_URL names an index that has it. A row
# works if the package computes, and the tests of the models that it accelerates pass. The last lines of the log of one
# that does not go to standard error.
set -eu
wheels=$(realpath "$1")
shift
cd "$(dirname "$0")/.."
[ "$#" -gt 0 ] || set -- 3.10/2.6.0/1.26.4/4.57.6 3.11/newest/1.26.4/newest 3.12/2.6.0/newest/newest \
  3.13/newest/newest/4.57.6
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python=$place/environment/bin/python
tests=$PWD/tests/pytorch

# wanted PACKAGE VERSION
wanted() {
  [ "$2" = newest ] && echo "$1" || echo "$1==$2"
}

# works: whether the package of this row computes. pip takes the one wheel that fits this Python.
works() {
  "$python" -m pip install --no-deps --no-index --find-links "$wheels" --only-binary :all: shiftgrad || return
  # shellcheck disable=SC2086
  "$python" -m pip install $requirements || return
  "$python" -m pip check || return
  for test in installed accelerate_test speech_models_test; do
    (cd "$place" && "$python" "$tests/$test.py") || return
  done
}

# version PACKAGE
version() {
  "$python" -c "import importlib.metadata; print(importlib.metadata.version('$1'))" || echo missing
}

echo '| Python | PyTorch | numpy | transformers | works | tests |'
echo '|---|---|---|---|---|--:|'
failed=0
for combination; do
  IFS=/ read -r number torch numpy transformers << END
$combination
END
  rm -rf "$place/environment"
  "python$number" -m venv "$place/environment"
  requirements="$(wanted torch "$torch") $(wanted numpy "$numpy") $(wanted transformers "$transformers")"
  if works > "$place/log" 2>&1; then works=yes; else works=no failed=1; tail -n 40 "$place/log" >&2; fi
  echo "| $("$python" -c 'import platform; print(platform.python_version())') | $(version torch) | $(version numpy)" \
    "| $(version transformers) | $works | $(awk '/^Ran [0-9]+ test/ { count += $2 } END { print count + 0 }' "$place/log") |"
done
exit "$failed"
