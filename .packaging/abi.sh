#!/bin/sh
# Compares the shared libraries of the last commit with those of the newest release that it comes after:
# .packaging/abi.sh FOLDER. It builds both there. A program runs with any library of the soname that it was linked with,
# so where that stays, nothing that a public header names may be gone or different. A new minor version has another.
set -eu
cd "$(dirname "$0")/.."
folder=$1
previous=$(git tag --list 'v[0-9]*' --merged HEAD --no-contains HEAD --sort=-version:refname | head -n 1)
[ -n "$previous" ] || { echo 'There is no earlier release to compare the libraries with.'; exit; }
command -v abidiff > /dev/null || { echo 'PATH: abidiff is missing, expected from abigail-tools' >&2; exit 1; }
.packaging/libraries.sh "$previous" "$folder/$previous"
.packaging/libraries.sh HEAD "$folder/HEAD"

# soname FILE
soname() {
  readelf -d "$1" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p'
}

offences=0
for old in "$folder/$previous"/*.so; do
  new=$folder/HEAD/$(basename "$old")
  if [ ! -e "$new" ] || [ "$(soname "$old")" != "$(soname "$new")" ]; then
    echo "$(soname "$old") ends with $previous."
  elif ! abidiff --no-added-syms --headers-dir1 "$folder/$previous/headers" --headers-dir2 "$folder/HEAD/headers" \
      "$old" "$new"; then
    echo "$(soname "$old"): a program of $previous does not fit, expected another soname or no such change" >&2
    offences=$((offences + 1))
  fi
done
[ "$offences" = 0 ]
