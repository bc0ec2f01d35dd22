#!/bin/sh
# Runs the Python test $1 on the bridge to PyTorch: its package as it lies in the examples, with the
# extension $2 and the libraries in the folder $3. $4 is empty, or names the sanitizer that they have.
# Skipped where Python lacks torch, or lacked nanobind when the build was configured.
set -eu
[ -n "${2:-}" ] || { echo 'SKIPPED: Python has no nanobind'; exit 77; }
# To import torch takes seconds; to find it takes none.
for package in torch safetensors; do
  python3 -c "import importlib.util, sys; sys.exit(not importlib.util.find_spec('$package'))" ||
    { echo "SKIPPED: Python has no $package"; exit 77; }
done
package=$(cd "$(dirname "$0")/../../examples/python/src/shiftgrad" && pwd)
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
mkdir "$place/shiftgrad"
ln -s "$package"/*.py "$package/py.typed" "$package/torch" "$package/bench" "$(realpath "$2")" "$place/shiftgrad"
export PYTHONPATH="$place" PYTHONDONTWRITEBYTECODE=1 LD_LIBRARY_PATH="$3${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
case ${4:-none} in
  none) ;;
  # Python is not instrumented, has no exceptions of C++ to intercept, and keeps what it imported.
  address)
    export LD_PRELOAD="$(${CXX:-g++} -print-file-name=libasan.so) $(${CXX:-g++} -print-file-name=libstdc++.so)"
    export ASAN_OPTIONS=detect_leaks=0 ;;
  *) echo "SKIPPED: Python does not run with the sanitizer $4"; exit 77 ;;
esac
unset CXX  # which torch.compile takes for one word
python3 "$1"
