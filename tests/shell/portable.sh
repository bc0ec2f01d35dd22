#!/bin/sh
# Configures a build without OpenBLAS and oneTBB where neither can be found, and compiles what it has in
# their place. That is linked with all other objects of the libraries in the folder $1, which are the
# same in both builds, so a program that links shows that nothing else needs the two. Tests of products
# and of tiles pass there, and a model learns as it does in the ordinary build.
set -eu
tests=$(cd "$(dirname "$0")/.." && pwd)
built=$(realpath "$1")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
compiler=${CXX:-c++}

# pkg-config finds these two alone.
mkdir "$place/packages"
for package in libhwy nlohmann_json; do
  folder=$(pkg-config --variable=pcfiledir "$package")
  cp "$folder/$package.pc" "$place/packages"
done
cd "$place"
PKG_CONFIG_PATH='' PKG_CONFIG_LIBDIR="$place/packages" \
  meson setup build "$tests/.." -Dportable=true -Dmpi=disabled -Ddefault_library=static -Db_pch=false
ninja -C build libshiftgrad-alone-f32.a.p/core_machine_no_blas.cpp.o \
  libshiftgrad-core-alone.a.p/core_machine_one_thread.cpp.o

# link PROGRAM SOURCE...: what is not in the portable objects comes from the ordinary libraries.
link() {
  program=$1
  shift
  # shellcheck disable=SC2046,SC2086
  $compiler -std=c++20 -O1 -I"$tests/.." -I"$tests/../.include" "$@" -o "$program" \
    build/libshiftgrad-*.a.p/*.o "$built/libshiftgrad-f32.a" "$built/libshiftgrad-core.a" \
    $(pkg-config --libs libhwy)
}
link products "$built/tests/libdoctest_main.a" "$tests/core/machine/blas.cpp" "$tests/core/machine/one_thread.cpp" \
  "$tests/core/machine/parallel.cpp" "$tests/core/machine/vector_product.cpp"
./products
# The same training in both. From step 60 on rounding grows, so that builds for two CPUs differ by a thousandth, too.
sed 's/n % 100 == 0/n == 50/' "$tests/../examples/transformer_xl.cpp" > training.cpp
$compiler -std=c++20 -O1 -I"$tests/.." -I"$tests/../.include" -c training.cpp
link portable_training training.o
$compiler training.o -o ordinary_training \
  "$built/libshiftgrad-f32.so" "$built/libshiftgrad-core.so" "-Wl,-rpath,$built"
# loss PROGRAM: after 50 steps.
loss() {
  "$1" | sed -n 's/^step 50: loss //p'
}
expected=$(loss ./ordinary_training)
found=$(loss ./portable_training)
awk -v a="$found" -v b="$expected" 'BEGIN { d = a - b; exit !(a > 0 && d < 1e-4 && d > -1e-4) }' ||
  { echo "a loss of '$found', '$expected' in the ordinary build"; exit 1; }
