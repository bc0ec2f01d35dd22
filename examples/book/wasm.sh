#!/bin/sh
# Builds the library for browsers, in WebAssembly, by Debian's emscripten. The folder build-book/wasm, or
# wasm below the folder that BUILD names, becomes a build folder of meson, with one thread and products of
# its own (-Dportable=true). The arguments are targets; without any, it builds what pages call.
#
#     apt-get install emscripten nodejs
#     examples/book/wasm.sh tests/tests-core.js && node build-book/wasm/tests/tests-core.js
set -eu
sources=$(cd "$(dirname "$0")/../.." && pwd)
build=${BUILD:-$sources/build-book}/wasm
mkdir -p "$build/packages/include"
packages=$(realpath "$build/packages")
# One build at a time.
exec 9> "$build/lock"
flock 9

# Compilers that run below emscripten's take what ccache has.
if command -v ccache > /dev/null; then
  export EM_COMPILER_WRAPPER=ccache CCACHE_SLOPPINESS=pch_defines,time_macros
fi

"$sources/.packaging/portable/packages.sh" "$packages" emar em++ -msimd128

if [ ! -f "$build/build.ninja" ]; then
  printf "[constants]\nsources = '%s'\npackages = '%s'\n" "$sources" "$packages" > "$packages/folders.ini"
  meson setup "$build" "$sources" --buildtype=release -Dportable=true -Dmpi=disabled \
    --cross-file "$packages/folders.ini" --cross-file "$sources/examples/book/emscripten.ini"
fi
ninja -C "$build" "${@:-examples/book/study.js}"
