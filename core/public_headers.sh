#!/bin/sh
# Copies the public headers, which are those that optim/shiftgrad.h reaches, to the folder $1/shiftgrad.
# Inside the project a source says "core/tensor.h"; in the copies that becomes
# "shiftgrad/core/tensor.h", so that a program outside may have a core/ of its own. At
# an installation, $1 is below its prefix or absolute; before, their paths here are printed.
set -eu
case $1 in
  /*) copies=${MESON_INSTALL_PREFIX:+${DESTDIR-}}$1/shiftgrad ;;
  *) copies=${MESON_INSTALL_DESTDIR_PREFIX:+$MESON_INSTALL_DESTDIR_PREFIX/}$1/shiftgrad ;;
esac
cd "$(dirname "$0")/.."

found=optim/shiftgrad.h
reached=
while [ "$found" != "$reached" ]; do
  reached=$found
  # shellcheck disable=SC2086
  found=$({ echo "$reached" && sed -n 's/^#include "\(.*\)"$/\1/p' $reached; } | sort -u)
done

for header in $found; do
  copy=$copies/$header
  [ "$header" != optim/shiftgrad.h ] || copy=$copies/shiftgrad.h
  mkdir -p "$(dirname "$copy")"
  sed 's,^#include ",&shiftgrad/,' "$header" > "$copy"
done
[ -n "${MESON_INSTALL_PREFIX-}" ] || echo "$found"
