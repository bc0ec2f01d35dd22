#!/bin/sh
# Builds the library and its tests for Windows by Debian's cross compiler, without OpenBLAS and oneTBB
# (-Dportable=true), and runs the suites of core, ops, nn, optim and the laws in wine. What is missing gets
# installed. How long anything takes there says nothing about Windows.
#
# Everything stays in build-windows, or in the folder that BUILD names.
set -eu
cd "$(dirname "$0")/.."
mkdir -p "${BUILD:-build-windows}"
build=$(realpath "${BUILD:-build-windows}")
cross=$PWD/tests/windows.ini
tests/packages.sh doctest-dev g++-mingw-w64-x86-64-posix libcli11-dev libhwy-dev nlohmann-json3-dev wine wine64
.packaging/portable/packages.sh "$build/packages" x86_64-w64-mingw32-ar x86_64-w64-mingw32-g++-posix -march=x86-64-v2 -mpclmul -maes

if [ ! -f "$build/build.ninja" ]; then
  printf "[constants]\npackages = '%s'\n" "$build/packages" > "$build/folders.ini"
  meson setup "$build" --cross-file "$build/folders.ini" --cross-file "$cross" --buildtype=release \
    -Ddefault_library=static -Dportable=true -Dmpi=disabled -Dwerror=true
fi
ninja -C "$build" tests/tests-core.exe tests/tests-files.exe tests/tests-f32.exe tests/tests-f64.exe
export WINEPREFIX="$build/wine" WINEDEBUG=-all
for program in core files f32 f64; do
  wine "$build/tests/tests-$program.exe" --source-file-exclude='*tests/laws/learning.cpp'
done
