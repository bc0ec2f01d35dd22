#!/bin/sh
# Builds wheels from the source distribution and tests them where nothing else is installed: wheels.sh [FOLDER]
#
# One wheel each for Python 3.10 and 3.11, and one for 3.12 and newer, with the libraries inside that PyTorch does
# not bring. It needs python3.10 to python3.13 on the PATH, and what a build needs. FOLDER is wheels unless given.
# $PAIRS has lines of a Python, a version of PyTorch and one of transformers, or nothing, to try none; without it, they
# are the oldest and the newest, so that each wheel and each Python has been tried.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "${1:-wheels}"
folder=$(cd "${1:-wheels}" && pwd)
cd "$here/../.."
. .packaging/same_bits.sh
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
pairs=${PAIRS-'3.10 2.6.0 4.57.6
3.11 2.15.0 5.23.0
3.12 2.6.0 4.57.6
3.13 2.15.0 5.23.0'}

python3.12 -m venv "$place/tools"
"$place/tools/bin/pip" install --quiet --require-hashes --requirement .packaging/requirements.txt
# It always lies in the same place, so that ccache finds the library's objects again for the next Python.
tarball=$(PATH="$place/tools/bin:$PATH" "$here/sdist.sh" "$folder")
source=${tarball%.tar.gz}
rm -rf "$source"
tar -xzf "$tarball" -C "$folder"
export CCACHE_SLOPPINESS=pch_defines,time_macros
export CXXFLAGS="${CXXFLAGS-} -ffile-prefix-map=$folder=."
for python in 3.10 3.11 3.12; do
  stable=$([ "$python" = 3.12 ] && echo true || echo false)
  "python$python" -m venv --clear "$folder/python-$python"
  "$folder/python-$python/bin/pip" install --quiet --require-hashes --requirement "$here/build_requirements.txt"
  PATH="$folder/python-$python/bin:$PATH" pip wheel --quiet --no-deps --no-build-isolation --wheel-dir "$place/built" "$source" \
    --config-settings=setup-args=-Dpython.allow_limited_api="$stable" \
    --config-settings=build-dir="$folder/build-$python"
done
PATH="$place/tools/bin:$PATH"
auditwheel repair --wheel-dir "$place/repaired" "$place"/built/*.whl

# What is inside asks for its licence beside it: the libraries, which auditwheel lists, and the code of headers.
for wheel in "$place"/repaired/*.whl; do
  rm -rf "$place/unpacked"
  wheel unpack --dest "$place/unpacked" "$wheel"
  case $wheel in *-abi3-*) python=3.12 ;; *-cp310-*) python=3.10 ;; *) python=3.11 ;; esac
  build=$folder/build-$python
  extension=$(cd "$build" && echo extension/_extension.*.so)
  .packaging/notices.py wheel "$place"/unpacked/* "$build" "$extension" > "$place/notices.txt"
  mv "$place/notices.txt" "$place"/unpacked/*/*.dist-info/licenses
  wheel pack --dest-dir "$folder" "$place"/unpacked/*
done
twine check --strict "$tarball" "$folder"/*.whl

echo "$pairs" | while read -r python torch transformers; do
  [ -n "$python" ] || continue
  "python$python" -m venv "$place/bare"
  # pip takes the one wheel of the folder that fits this Python.
  "$place/bare/bin/pip" install --quiet --no-deps --no-index --find-links "$folder" --only-binary :all: shiftgrad
  "$place/bare/bin/pip" install --quiet "torch==$torch" "transformers==$transformers"
  "$place/bare/bin/pip" check
  (cd "$place" && "$place/bare/bin/python" "$here/../../tests/pytorch/installed.py" "$torch")
  rm -rf "$place/bare"
done
