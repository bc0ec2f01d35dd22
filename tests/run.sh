#!/bin/sh
# Builds everything from nothing and runs every test. The last line counts the test cases:
#     N passed, N failed
# The arguments go to the configuration, such as -Dsanitizers=address or -Dwerror=true.
set -eu
cd "$(dirname "$0")/.."
build=build-tests

finish() {
  echo "$1 passed, $2 failed"
  [ "$1" -gt 0 ] && [ "$2" -eq 0 ] && exit 0
  exit 1
}

tests/packages.sh doctest-dev
rm -rf "$build"
meson setup "$build" --buildtype=release "$@" || finish 0 1
ninja -C "$build" all meson-test-prereq || finish 0 1

# One more test than cores: some wait for others' time to pass, or for one process of several.
status=0
meson test -C "$build" --no-rebuild --print-errorlogs --num-processes $(($(nproc) + 1)) < /dev/null || status=$?
counts=$(awk -f tests/count.awk -v status="$status" "$build/meson-logs/testlog.json") || finish 0 1
finish $counts
