#!/bin/sh
# Installs the build in the folder $1 into a temporary place and uses it as a stranger would: a small
# program, by pkg-config, in both precisions, with the shared and with the static libraries.
set -eu
build=$1
source=$(cd "$(dirname "$0")" && pwd)/installed/program.cpp
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

meson install -C "$build" --no-rebuild --quiet --destdir "$place"
pages=$(find "$place" -name shiftgrad.pc)
export PKG_CONFIG_PATH="$(dirname "$pages")"
libraries=$(dirname "$PKG_CONFIG_PATH")
export LD_LIBRARY_PATH="$libraries"

# check PACKAGE EXPECTED [--static]: what the program prints when it is built with the package.
check() {
  # shellcheck disable=SC2046
  ${CXX:-c++} -std=c++20 "$source" -o "$place/program" $(pkg-config ${3-} --cflags --libs "$1")
  printed=$("$place/program")
  [ "$printed" = "$2" ] || { echo "$1 ${3-}: printed '$printed', expected '$2'"; exit 1; }
}

# The size of a Scalar, and a sum over four columns of 2.
check shiftgrad '4 8'
check shiftgrad-f64 '8 8'
rm "$libraries"/libshiftgrad*.so*
check shiftgrad '4 8' --static
check shiftgrad-f64 '8 8' --static

# Every installed header can be included, and shows none of the libraries behind it.
headers=$(cd "$place" && find . -name '*.h')
folder=$(find "$place" -type d -path '*include/shiftgrad')
for precision in '' -DSHIFTGRAD_DOUBLE; do
  (cd "$folder" && find . -name '*.h' -printf '#include "%P"\n') |
    ${CXX:-c++} -std=c++20 $precision -I "$folder" -fsyntax-only -x c++ -
done
! grep -rnE 'include *<(cblas|tbb|oneapi|hwy|nlohmann)' "$folder"
