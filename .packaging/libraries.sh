#!/bin/sh
# Builds the shared libraries of a commit, with what abidiff reads, and its public headers:
# .packaging/libraries.sh COMMIT FOLDER
set -eu
cd "$(dirname "$0")/.."
mkdir -p "$2"
folder=$(realpath "$2")
rm -rf "$folder/source" "$folder/build" "$folder/headers"
mkdir "$folder/source"
git archive "$1" | tar -x -C "$folder/source"
meson setup "$folder/build" "$folder/source" -Dbuildtype=debug -Ddefault_library=shared -Dtests=false -Dmpi=disabled
for part in core f32 f64; do
  meson compile -C "$folder/build" "shiftgrad-$part:shared_library"
done
"$folder/source/core/public_headers.sh" "$folder/headers" > /dev/null
cp -L "$folder"/build/libshiftgrad-*.so "$folder"
