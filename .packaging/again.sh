#!/bin/sh
# Makes all files of a release once more, in another folder, at another time, with another umask, language and zone, and
# compares them with those in FOLDER: again.sh VERSION FOLDER PLACE. Where they differ, diffoscope shows how, if it is here.
set -eu
cd "$(dirname "$0")/.."
version=$1
folder=$(realpath "$2")
rm -rf "$3"
mkdir -p "$3"
place=$(realpath "$3")
git clone --quiet --no-hardlinks . "$place/somewhere_else"
cd "$place/somewhere_else"
(
  umask 077
  unset SOURCE_DATE_EPOCH
  export TZ=Pacific/Kiritimati LC_ALL=C LANGUAGE=tr
  .packaging/parts.sh "$version" "$place/parts_elsewhere" "$place/again" < /dev/null
)

differing=0
for file in "$place"/again/*; do
  first=$folder/$(basename "$file")
  if ! cmp -s "$first" "$file"; then
    echo "$(basename "$file"): two builds of one commit differ, expected the same bits" >&2
    differing=$((differing + 1))
    ! command -v diffoscope > /dev/null || diffoscope --max-report-size 20000 --max-page-size 20000 "$first" "$file" || true
  fi
done
[ "$differing" = 0 ]
