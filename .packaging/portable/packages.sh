#!/bin/sh
# Makes the folder $1 with what -Dportable=true needs on another machine: headers, and what pkg-config says of them.
# The other arguments are the archiver, the compiler and its flags for that machine.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1/include"
packages=$(realpath "$1")
archiver=$2
shift 2

# Headers for all machines lie beside those for this one. Links leave out the latter.
for headers in hwy nlohmann doctest CLI; do
  ln -sfn "/usr/include/$headers" "$packages/include/$headers"
done

# package NAME [LIBRARY]: what pkg-config says of it.
package() {
  printf 'Name: %s\nDescription: %s for another machine\nVersion: %s\nCflags: -isystem %s\nLibs: %s\n' \
    "$1" "$1" "$(pkg-config --modversion "$1")" "$packages/include" "${2-}" > "$packages/$1.pc"
}
package libhwy "$packages/libhwy.a"
package nlohmann_json
"$@" -std=c++20 -O2 -I"$packages/include" -c "$here/highway.cpp" -o "$packages/highway.o"
"$archiver" rcs "$packages/libhwy.a" "$packages/highway.o"
