#!/bin/sh
# Builds the library for browsers, in WebAssembly, with Debian's emscripten: build-book/ is a build folder
# of meson, in which the library has one thread and products of its own (-Dportable=true). Arguments are
# targets; without any, it builds the programs that the book needs.
#
#     apt-get install emscripten nodejs
#     examples/book/build.sh tests/tests-core.js && node build-book/tests/tests-core.js
set -eu
cd "$(dirname "$0")/../.."
build=build-book
packages=$PWD/$build/packages

# Debian's headers for all machines are beside those for this one: links leave the latter out.
mkdir -p "$packages/include"
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
em++ -std=c++20 -O2 -msimd128 -I"$packages/include" -c examples/book/highway.cpp -o "$packages/highway.o"
rm -f "$packages/libhwy.a"
emar rc "$packages/libhwy.a" "$packages/highway.o"

printf "[constants]\nsources = '%s'\npackages = '%s'\n" "$PWD" "$packages" > "$packages/folders.ini"
[ -f "$build/build.ninja" ] ||
  meson setup "$build" --cross-file "$packages/folders.ini" --cross-file examples/book/emscripten.ini \
    --buildtype=release -Dportable=true -Dmpi=disabled -Db_pch=false
ninja -C "$build" "${@:-examples/book/study.js}"
