#!/bin/sh
# Looks at what `ninja` and `meson install` build in the folder $1: nothing of the tests, which are for
# `meson test` alone; a meson older than 1.7 builds what tests need by `all`. With -Dtests=false they are
# not even configured.
set -eu
tests=$(cd "$(dirname "$0")/.." && pwd)
build=$1
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

# only FOLDER: no object of a test is needed for `all`.
only() {
  ninja -C "$1" -t inputs all > "$place/inputs"
  grep -q '^examples/apps/char_lm/char_lm.p/' "$place/inputs" || { echo "$1 lacks char_lm"; exit 1; }
  ! grep -n '^tests/' "$place/inputs" || { echo "$1 builds tests"; exit 1; }
}
if printf '%s\n' 1.7 "$(meson --version)" | sort --version-sort --check=quiet; then
  only "$build"
fi
ninja -C "$build" -t inputs meson-test-prereq | grep -q '^tests/tests-core.p/'

meson setup "$place/build" "$tests/.." -Dtests=false > "$place/output" || { cat "$place/output"; exit 1; }
only "$place/build"
! ninja -C "$place/build" -t targets all | grep '^tests/' || { echo 'tests are configured'; exit 1; }
! grep doctest "$place/output" || { echo 'doctest was looked for'; exit 1; }
