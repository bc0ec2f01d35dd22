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

# Headers for all machines lie beside those for this one. Links leave out the latter.
for headers in hwy nlohmann doctest CLI; do
  ln -sfn "/usr/include/$headers" "$packages/include/$headers"
done

# package NAME [LIBRARY]: what pkg-config says of it.
package() {
  printf 'Name: %s\nDescription: %s in WebAssembly\nVersion: %s\nCflags: -I%s\nLibs: %s\n' \
    "$1" "$1" "$(pkg-config --modversion "$1")" "$packages/include" "${2-}" > "$packages/$1.pc"
}
package libhwy "$packages/libhwy.a"
package nlohmann_json
em++ -std=c++20 -O2 -msimd128 -I"$packages/include" -c "$sources/examples/book/highway.cpp" -o "$packages/highway.o"
emar rcs "$packages/libhwy.a" "$packages/highway.o"

if [ ! -f "$build/build.ninja" ]; then
  printf "[constants]\nsources = '%s'\npackages = '%s'\n" "$sources" "$packages" > "$packages/folders.ini"
  meson setup "$build" "$sources" --buildtype=release -Dportable=true -Dmpi=disabled \
    --cross-file "$packages/folders.ini" --cross-file "$sources/examples/book/emscripten.ini"
fi
ninja -C "$build" "${@:-examples/book/study.js}"
