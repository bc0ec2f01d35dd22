#!/bin/sh
# Prints where playwright-core is, which drives Debian's chromium. npm gets it into the folder $1 if it is not there.
# Status 77, with the reason on standard error, where something is missing.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
for program in node npm chromium; do
  command -v $program > /dev/null || { echo "SKIPPED: $program is not installed" >&2; exit 77; }
done
mkdir -p "$1"
exec 9> "$1/lock"  # one installation at a time
flock 9
cp "$here/package.json" "$here/package-lock.json" "$1"
[ -d "$1/node_modules/playwright-core" ] ||
  npm ci --prefix "$1" --ignore-scripts > "$1/npm.log" 2>&1 ||
  { echo 'SKIPPED: npm cannot get playwright-core' >&2; exit 77; }
realpath "$1/node_modules/playwright-core"
