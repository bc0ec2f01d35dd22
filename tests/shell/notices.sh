#!/bin/sh
# Checks .packaging/notices.py: what is in a program and in a book is named with its licence, and what nobody has put
# down is refused, as is a file that lacks an entry. $1 is the build's folder, $2 a program there.
set -eu
build=$(realpath "$1")
program=$(realpath --relative-to="$build" "$2")
command -v dpkg-query > /dev/null || { echo 'SKIPPED: only Debian says here what a file belongs to'; exit 77; }
cd "$(dirname "$0")/../.."
notices=.packaging/notices.py
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

fail() {
  echo "FAILED: $1"
  exit 1
}

# refuses TEXT ARGUMENT...: notices.py says this line.
refuses() {
  text=$1
  shift
  ! $notices "$@" > "$place/output" 2> "$place/errors" || fail "notices.py $*: status 0"
  [ "$(cat "$place/errors")" = "$text" ] || fail "notices.py $*: $(cat "$place/errors"), expected $text"
}

# titles FILE: of the parts, in one line.
titles() {
  sed -n 's/^## \([^\/].*\): pkg:.*/\1/p' "$1" | paste -s -d ,
}

# --- A program has what its sources read. Of the common licences, each text is there once.
$notices build "$build" "$program" > "$place/notices"
expected='CLI11,Highway,JSON for Modern C++'
[ "$(titles "$place/notices" | sed 's/,OpenBLAS,oneTBB//')" = "$expected" ] || fail "$program has $(titles "$place/notices")"
head -n 1 "$place/notices" | grep -qx 'MIT License' || fail 'our own licence is not the first'
[ "$(grep -c '^ *Apache License$' "$place/notices")" = 1 ] || fail "Apache's licence is not there once"
$notices --check "$place/notices" build "$build" "$program"

# --- Without an entry, or without its licence, the check fails.
version=$(dpkg-query --show --showformat='${Version}' libhwy-dev)
line="Highway: pkg:deb/debian/libhwy-dev@$version, Apache-2.0 is missing or has another text"
sed '/^## Highway: /d' "$place/notices" > "$place/without"
refuses "$place/without: $line" --check "$place/without" build "$build" "$program"
sed '/Google LLC/d' "$place/notices" > "$place/without"
refuses "$place/without: $line" --check "$place/without" build "$build" "$program"
refuses "notices: $place has no build.ninja, expected a build folder of meson" build "$place" "$program"

# --- The headers of Python are interfaces, wherever they lie: Debian has those of one machine in a folder of their own.
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=.packaging python3 -c 'import notices
for folder in "/usr/include", "/usr/include/x86_64-linux-gnu", "/opt/python/include":
    assert notices.NO_NOTICE.search(f"{folder}/python3.11/pyconfig.h"), folder'

# --- A package whose licence nobody has read.
mkdir -p "$place/project/.packaging"
cp LICENSE "$place/project"
sed '/^ *"libhwy-dev":/d' $notices > "$place/project/$notices"
chmod +x "$place/project/$notices"
notices=$place/project/$notices
refuses 'notices: libhwy-dev is shipped and has no line in .packaging/notices.py, expected one with its licence' \
  build "$build" "$program"
notices=.packaging/notices.py

# --- A wheel with a library that auditwheel did not name, and one that it did.
mkdir -p "$place/wheel/shiftgrad.libs" "$place/wheel/shiftgrad-1.dist-info/sboms"
bill=$place/wheel/shiftgrad-1.dist-info/sboms/auditwheel.cdx.json
touch "$place/wheel/shiftgrad.libs/libgfortran-0.so"
echo '{"components": [{"name": "shiftgrad", "purl": "pkg:pypi/shiftgrad@1"}]}' > "$bill"
refuses "notices: $place/wheel: 1 libraries, and packages of 0, expected one for each" wheel "$place/wheel" "$build" "$program"
package=$(dpkg-query --search '*/libgfortran.so.5' 2> /dev/null | head -n 1 | cut -d : -f 1)
if [ -n "$package" ]; then
  echo "{\"components\": [{\"name\": \"$package\", \"purl\": \"pkg:deb/debian/$package@1\"}]}" > "$bill"
  $notices wheel "$place/wheel" "$build" "$program" > "$place/notices"
  grep -q "^## GNU Fortran's runtime: .*, GPL-3.0-or-later WITH GCC-exception-3.1$" "$place/notices" ||
    fail "the wheel has $(titles "$place/notices")"
fi

# --- A book: its fonts belong to somebody, and so does every other file.
mkdir -p "$place/book/fonts"
touch "$place/book/index.html" "$place/book/highlight.js"
refuses 'notices: highlight.js is in the book and has no line in .packaging/notices.py, expected whose it is' \
  book "$place/book" "$build"
rm "$place/book/highlight.js"
touch "$place/book/fonts/other.woff2"
refuses 'notices: fonts/other.woff2 is in the book and has no line in .packaging/notices.py, expected whose it is' \
  book "$place/book" "$build"
rm "$place/book/fonts/other.woff2"

# --- The bill of materials of a release says what is in a book, by its notices, and is the same once more.
if python3 -c 'import cyclonedx, jsonschema, packageurl' 2> /dev/null; then
  mkdir -p "$place/release"
  $notices build "$build" "$program" > "$place/book/notices.txt"
  export SOURCE_DATE_EPOCH=1700000000
  .packaging/pack.py "$place/release/book.zip" "$place/book"
  echo source > "$place/release/source.tar.gz"
  .packaging/bill.py 9.8.7 "$place/release" > "$place/bill"
  TZ=Pacific/Kiritimati PYTHONHASHSEED=3 .packaging/bill.py 9.8.7 "$place/release" | cmp - "$place/bill" ||
    fail 'two bills of the same files differ'
  python3 - "$place/bill" << 'END'
import hashlib
import json
import sys

bill = json.load(open(sys.argv[1]))
parts = {part["bom-ref"]: part for part in bill["components"]}
assert parts["source.tar.gz"]["hashes"][0]["content"] == hashlib.sha256(b"source\n").hexdigest()
[inside] = [each["dependsOn"] for each in bill["dependencies"] if each["ref"] == "book.zip"]
assert any("nlohmann-json3-dev" in each for each in inside) and all(each in parts for each in inside), inside
END
fi

# --- Typefaces that were changed do not have the names that ParaType keeps, and are as they were in everything else.
if [ -d /usr/share/fonts/truetype/paratype ] && /usr/bin/python3 -c 'import fontTools, brotli' 2> /dev/null; then
  examples/book/make/typefaces.py "$place/book/fonts"
  /usr/bin/python3 - "$place/book/fonts" << 'END'
import pathlib
import re
import sys

from fontTools.ttLib import TTFont

faces = sorted(pathlib.Path(sys.argv[1]).glob("*.woff2"))
assert len(faces) == 6, faces
for face in faces:
    names = {record.nameID: str(record) for record in TTFont(face)["name"].names}
    for number in (1, 3, 4, 6):
        assert not re.search(r"\bPT|ParaType", names[number]), (face, names[number])
    assert "ParaType" in names[0] and "ParaType Free Font License" in names[13], (face, names)
END
fi
