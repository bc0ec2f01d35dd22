#!/bin/sh
# Uses the sources as a stranger would who has them in his own project's subprojects/: builds the
# project in outside/, whose op and mixer are its own, and runs it.
set -eu
tests=$(cd "$(dirname "$0")/.." && pwd)
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

cp -r "$tests/shell/outside" "$place/project"
mkdir "$place/project/subprojects"
ln -s "$tests/.." "$place/project/subprojects/shiftgrad"
cd "$place/project"
# Nothing that is installed on this machine is taken for it; unoptimised, for compiling takes longest.
meson setup build --wrap-mode=forcefallback -Dbuildtype=plain
ninja -C build extension-shiftgrad
build/extension-shiftgrad
[ ! -e build/subprojects/shiftgrad/examples ] || { echo 'the examples were configured too'; exit 1; }
