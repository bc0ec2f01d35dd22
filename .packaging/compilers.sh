#!/bin/sh
# Builds the library of floats and a program with other compilers, and prints a row of a table for each:
#
#     .packaging/compilers.sh                                       # all below, in hours; as root
#     .packaging/compilers.sh bookworm/clang-16/1.0.0 trixie/g++-14/newest
#
# A combination is a release of Debian, a compiler's package there, and a version of meson from PyPI. This machine's
# own release is used as it is, others in chroots in build-compilers, which debootstrap fills, from MIRROR if that is set.
# What does not build is a row too. The last lines of its log, and all warnings, go to standard error.
#
# Debian 13's g++-13 is left out: it links no program that uses Debian's oneTBB, which g++ 14 made and which needs
# CXXABI_1.3.15, since it links its own libstdc++ instead of the system's newer one. The warnings of clang 22 on Debian
# 12 lie in libstdc++ 12, whose std::stable_sort calls std::get_temporary_buffer, which C++17 deprecated.
set -eu
cd "$(dirname "$0")/.."
. .packaging/roots.sh
place=$PWD/build-compilers
[ "$#" -gt 0 ] || set -- bookworm/g++-12/1.0.0 bookworm/g++-12/newest bookworm/g++-11/newest bookworm/clang-14/1.0.0 \
  bookworm/clang-15/newest bookworm/clang-16/newest bookworm/clang-19/newest bookworm/clang-22/newest \
  trixie/g++-14/1.0.0 trixie/g++-14/newest trixie/clang-17/newest trixie/clang-19/newest
mkdir -p "$place"

# within ROOT COMMAND...: runs it in that root, where / is this machine.
within() {
  root=$1
  shift
  if [ "$root" = / ]; then "$@"; else chroot "$root" "$@"; fi
}

# root_of RELEASE: prints where that Debian is, and makes it where it is not.
root_of() {
  if grep -q "^VERSION_CODENAME=$1$" /etc/os-release; then echo /; return; fi
  root_in "$place" "$1"
}

# run COMMAND...: runs it in $root, with the compiler and meson of this row. Ninja calls meson, too. A compiler cache may
# hold a precompiled header as it was.
run() {
  within "$root" env CCACHE_DISABLE=1 CXX="$cxx" PYTHONPATH="$inside/meson" "$@"
}

# build: the library, and a program that runs; in $here, where $root sees it as $inside.
build() {
  run python3 -m mesonbuild.mesonmain setup "$inside/build" "$inside/source" -Dtests=false -Dmpi=disabled || return
  run ninja -j1 -C "$inside/build" examples/one_layer || return
  # Without /proc, as in a chroot, a program does not know where it lies.
  run env LD_LIBRARY_PATH="$inside/build" "$inside/build/examples/one_layer"
}

echo '| Debian | compiler | meson | builds | warnings |'
echo '|---|---|---|---|--:|'
failed=0
for combination; do
  release=${combination%%/*} meson=${combination##*/}
  compiler=${combination#*/}
  compiler=${compiler%/*}
  root=$(root_of "$release")
  within "$root" env DEBIAN_FRONTEND=noninteractive apt-get --yes --no-install-recommends \
    -o DPkg::Lock::Timeout=600 install "$compiler" \
    ninja-build pkg-config python3 libopenblas-dev libtbb-dev libhwy-dev libcli11-dev nlohmann-json3-dev >&2
  inside=/tmp/shiftgrad-compilers
  here=${root%/}$inside
  rm -rf "$here"
  mkdir -p "$here/source"
  git archive HEAD | tar -x -C "$here/source"
  python3 -m pip install --quiet --target "$here/meson" "meson$([ "$meson" = newest ] || echo "==$meson")" >&2
  case $compiler in clang*) cxx=clang++${compiler#clang} ;; *) cxx=$compiler ;; esac
  if build > "$here/log" 2>&1; then builds=yes; else builds=no failed=1; tail -n 20 "$here/log" >&2; fi
  grep -A 5 'warning:' "$here/log" >&2 || true
  echo "| $(run cat /etc/debian_version) | $compiler $(run "$cxx" -dumpfullversion -dumpversion)" \
    "| $(run python3 -m mesonbuild.mesonmain --version) | $builds | $(grep -c 'warning:' "$here/log") |"
  rm -rf "$here"
done
exit "$failed"
