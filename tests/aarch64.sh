#!/bin/sh
# Builds the library, its tests and the wheel of the bridge to PyTorch for aarch64, by Debian's cross compiler,
# and runs the tests in an emulator. What is missing gets installed; libraries of aarch64 lie beside this
# machine's own. How long anything takes there says nothing about a real CPU.
#
#     tests/aarch64.sh              # all of these, one after the other
#     tests/aarch64.sh libraries    # the tests with OpenBLAS and oneTBB of that architecture
#     tests/aarch64.sh portable     # the tests without the two (-Dportable=true)
#     tests/aarch64.sh wheel        # the wheel, whose extension is then loaded
#
# Everything stays in build-aarch64, or in the folder that BUILD names.
set -eu
cd "$(dirname "$0")/.."
cross=$PWD/tests/aarch64.ini
mkdir -p "${BUILD:-build-aarch64}"
build=$(realpath "${BUILD:-build-aarch64}")
tests/packages.sh doctest-dev g++-aarch64-linux-gnu libhwy-dev:arm64 libopenblas-dev:arm64 libpython3-dev:arm64 \
  libtbb-dev:arm64 python3-venv qemu-user

# suites NAME OPTION...: builds the tests with these options and runs them, without those of a program of its
# own, since the emulator starts no further ones, and without trainings, which it does not end in ten minutes.
suites() {
  folder=$build/$1
  shift
  [ -f "$folder/build.ninja" ] || meson setup "$folder" --cross-file "$cross" --buildtype=release \
    -Ddefault_library=shared -Dmpi=disabled -Dwerror=true "$@"
  ninja -C "$folder" tests/tests-core tests/tests-files tests/tests-f32 tests/tests-f64
  for program in core files f32 f64; do
    qemu-aarch64 "$folder/tests/tests-$program" \
      --source-file-exclude='*tests/examples/apps/run_layer/*,*tests/laws/learning.cpp'
  done
}

# Python tells meson-python what it builds for by two variables. Of an interpreter for aarch64, Debian has the
# library beside this machine's own; a program that calls it loads the extension.
wheel() {
  python=$build/python
  [ -x "$python/bin/pip" ] || python3 -m venv "$python"
  "$python/bin/pip" install --quiet meson-python ninja 'nanobind >= 2.4'
  rm -rf "$build/wheel" "$build/unpacked"
  PATH="$python/bin:$PATH" _PYTHON_HOST_PLATFORM=linux-aarch64 \
    _PYTHON_SYSCONFIGDATA_NAME=_sysconfigdata__aarch64-linux-gnu \
    "$python/bin/pip" wheel --no-deps --no-build-isolation --wheel-dir "$build/wheel" \
    --config-settings "setup-args=--cross-file=$cross" examples/python
  python3 -m zipfile -e "$build"/wheel/shiftgrad-*-linux_aarch64.whl "$build/unpacked"
  readelf -h "$build"/unpacked/shiftgrad/_extension.*.so | grep 'Machine: *AArch64'

  echo 'extern "C" int Py_BytesMain(int, char**); int main(int n, char** words) { return Py_BytesMain(n, words); }' |
    aarch64-linux-gnu-g++ -x c++ - -o "$build/python-aarch64" \
      "-l$(python3 -c 'import sys; print("python%d.%d" % sys.version_info[:2])')"
  PYTHONPATH="$build/unpacked" qemu-aarch64 "$build/python-aarch64" -c '
import platform
from shiftgrad import _extension
print("shiftgrad", _extension.__version__, "loaded on", platform.machine())'
}

for part in ${*:-libraries portable wheel}; do
  case $part in
    libraries) suites libraries ;;
    portable) suites portable -Dportable=true ;;
    wheel) wheel ;;
    *)
      echo "tests/aarch64.sh: there is no $part: expected libraries, portable or wheel" >&2
      exit 1
      ;;
  esac
done
