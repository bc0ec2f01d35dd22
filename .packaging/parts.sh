#!/bin/sh
# Makes what a release of the last commit is made of, by the scripts that build each part, into a folder:
# parts.sh VERSION PARTS FOLDER. What is between stays in PARTS. REPOSITORY_URL is that of the scripts.
set -eu
cd "$(dirname "$0")/.."
. .packaging/same_bits.sh
version=$1
rm -rf "$2/debian" "$2/pages"
mkdir -p "$2/debian" "$2/wheels" "$3"
parts=$(realpath "$2") folder=$(realpath "$3")

# run SCRIPT ARGUMENT...
run() {
  printf '\n== %s\n' "$*"
  "$@" || { echo "$1: the status is $?, expected 0" >&2; exit 1; }
}

# keep NUMBER WHAT FILE...: copies the files to the release.
keep() {
  number=$1 what=$2
  shift 2
  [ -e "$1" ] || shift
  [ $# = "$number" ] || { echo "build-release: the number of $what is $#, expected $number" >&2; exit 1; }
  cp "$@" "$folder"
}

rm -f "$parts"/wheels/*.whl "$parts"/wheels/*.tar.gz
run examples/python/wheels.sh "$parts/wheels"
keep 1 'source distributions' "$parts/wheels/shiftgrad-$version.tar.gz"
keep 3 wheels "$parts"/wheels/shiftgrad-"$version"-*.whl
run .packaging/build.sh "$parts/debian"
rm -f "$parts"/debian/*-dbgsym_*
keep 3 '*.deb' "$parts"/debian/*_"$version"-*.deb
keep 1 '*.dsc' "$parts"/debian/shiftgrad_"$version"-*.dsc
keep 3 'sources of the packages' "$parts"/debian/shiftgrad_"$version"[.-]*.tar.*
export BUILD="$parts/book"
run examples/book/build.sh
examples/book/copy.sh "$BUILD" "$parts/pages/book"
.packaging/pack.py "$folder/shiftgrad-book-$version.zip" "$parts/pages/book"
vectors=shiftgrad-vectors-$(cat tests/vectors/VERSION)
git -C tests/vectors -c tar.umask=022 archive --format=tar --prefix="$vectors/" HEAD | gzip -n > "$folder/$vectors.tar.gz"
cp .github/CITATION.cff "$folder"
[ -z "${REPOSITORY_URL-}" ] || echo "repository-code: $REPOSITORY_URL" >> "$folder/CITATION.cff"
