#!/bin/sh
# Builds wheels from the source distribution: wheels.sh [FOLDER]
#
# One wheel each for Python 3.10 and 3.11, and one for 3.12 and newer, with the libraries inside that PyTorch does
# not bring. It needs python3.10 to python3.12 on the PATH, and what a build needs. FOLDER is wheels unless given.
# .packaging/pythons.sh tries them.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "${1:-wheels}"
folder=$(cd "${1:-wheels}" && pwd)
cd "$here/../.."
. .packaging/same_bits.sh
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

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
