#!/bin/sh
# Makes a release of the last commit, by the scripts that build each part:
#
#     .packaging/release.sh --check VERSION   # checks alone, in a second
#     .packaging/release.sh VERSION           # checks, then all tests and all builds
#     .packaging/release.sh --notes VERSION   # prints the changelog's section
#
# The folder build-release/VERSION is made anew. It gets the wheels and their source distribution, Debian's packages
# with their source, the book, the vectors, CITATION.cff, the bill of materials, and SHA256SUMS of all of them. A check
# that fails prints one line with the file, the value and what was expected. All is built twice, and has to have the same
# bits. The tag vVERSION need not be there yet. REPOSITORY_URL=ADDRESS says where the project lies on GitHub, for the
# wheels, the packages and CITATION.cff.
set -eu
cd "$(dirname "$0")/.."
changelog=.github/CHANGELOG.md
mode=
case ${1-} in --check | --notes) mode=$1; shift ;; esac
version=${1-}
echo "$version" | grep -Eqx '(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)' || {
  echo "release.sh: VERSION is '$version', expected three numbers such as 1.0.0" >&2
  exit 1
}
offences=0

# offend LINE: counts what is wrong.
offend() {
  echo "$1" >&2
  offences=$((offences + 1))
}

# expect FILE WHAT FOUND EXPECTED
expect() {
  [ "$3" = "$4" ] || offend "$1: $2 is ${3:-missing}, expected $4"
}

# section NAME: what the changelog has below ## [NAME], without empty lines at its ends.
section() {
  awk -v heading="## [$1]" '
    /^## / { inside = index($0, heading) == 1; next }
    inside && (NF || started) { started = 1; held = held $0 "\n"; if (NF) { printf "%s", held; held = "" } }' $changelog
}

# The versions of all files, the date of the release, and what else several of them say.
check_files() {
  for file in meson.build examples/python/meson.build; do
    expect $file version "$(sed -n "s/.* version: '\([^']*\)'.*/\1/p" $file | head -n 1)" "$version"
  done
  expect examples/python/pyproject.toml version \
    "$(sed -n 's/^version = "\(.*\)"$/\1/p' examples/python/pyproject.toml)" "$version"
  expect .packaging/debian/changelog 'the newest version' \
    "$(sed -n '1s/^shiftgrad (\(.*\)-[^-]*) .*/\1/p' .packaging/debian/changelog)" "$version"
  expect .github/CITATION.cff version "$(sed -n 's/^version: //p' .github/CITATION.cff)" "$version"

  authors=$(sed -n 's/^Copyright (c) [0-9]* //p' LICENSE)
  expect examples/python/pyproject.toml authors \
    "$(sed -n 's/^authors = \[{ name = "\(.*\)" }\]$/\1/p' examples/python/pyproject.toml)" "$authors"
  expect .packaging/debian/control Maintainer \
    "$(sed -n 's/^Maintainer: \(.*\) <.*/\1/p' .packaging/debian/control)" "$authors"
  expect .github/CITATION.cff authors "$(sed -n 's/^  - name: //p' .github/CITATION.cff)" "$authors"
  license=$(sed -n 's/^license = "\(.*\)"$/\1/p' examples/python/pyproject.toml)
  expect .github/CITATION.cff license "$(sed -n 's/^license: //p' .github/CITATION.cff)" "$license"
  keywords=$(sed -n 's/^keywords = \["\(.*\)"\]$/\1/p' examples/python/pyproject.toml | sed 's/", "/,/g')
  expect .github/CITATION.cff keywords "$(sed -n '/^keywords:$/,$s/^  - //p' .github/CITATION.cff | paste -s -d ,)" "$keywords"

  heading=$(grep -F "## [$version]" $changelog | head -n 1)
  date=${heading#"## [$version] - "}
  if echo "$date" | grep -Eqx '[0-9]{4}-[0-9]{2}-[0-9]{2}'; then
    expect .github/CITATION.cff date-released "$(sed -n 's/^date-released: //p' .github/CITATION.cff)" "$date"
  else
    offend "$changelog: the heading is ${heading:-missing}, expected ## [$version] - YYYY-MM-DD"
  fi
  [ -z "$heading" ] || [ -n "$(section "$version")" ] ||
    offend "$changelog: [$version] is empty, expected what the version is or changes"
  expect $changelog 'the number of lines below [Unreleased]' "$(section Unreleased | wc -l | tr -d ' ')" 0
}

# What a release is made of is committed, and its tag belongs to nothing else.
check_commit() {
  commit=$(git rev-parse --verify --quiet HEAD) || { offend "git: HEAD is missing, expected a commit"; return; }
  uncommitted=$(git status --porcelain)
  [ -z "$uncommitted" ] ||
    offend "git: $(echo "$uncommitted" | wc -l) files are not committed, expected 0; the first is ${uncommitted%%
*}"
  tagged=$(git rev-parse --verify --quiet "refs/tags/v$version^{commit}" || echo "$commit")
  expect git "the commit of the tag v$version" "$tagged" "$commit"
}

# pythons.sh would miss an interpreter only after the tests have run.
check_tools() {
  for python in 3.10 3.11 3.12 3.13; do
    "python$python" -c 'import ensurepip, pip' 2> /dev/null ||
      offend "PATH: python$python does not run with pip and ensurepip, expected for .packaging/pythons.sh"
  done
}

end_if_wrong() {
  [ "$offences" = 0 ] || exit 1
}

[ "$mode" != --notes ] || { section "$version"; exit; }
check_files
check_commit
[ -n "$mode" ] || check_tools
end_if_wrong
[ "$mode" != --check ] || { echo "$version can be released"; exit; }

folder=$PWD/build-release/$version
parts=$PWD/build-release/parts
rm -rf "$folder" "$parts/abi"
mkdir -p "$folder" "$parts/abi"
released=$commit
export SOURCE_DATE_EPOCH="$(git log -1 --format=%ct)"

# run SCRIPT ARGUMENT...
run() {
  printf '\n== %s\n' "$*"
  "$@" || { echo "$1: the status is $?, expected 0" >&2; exit 1; }
}

run .ci/run
run .packaging/abi.sh "$parts/abi"
.packaging/parts.sh "$version" "$parts" "$folder"
run .packaging/pythons.sh "$parts/wheels"
run .packaging/again.sh "$version" "$folder" "$PWD/build-release/again"

# Everything is of one commit, which the builds have not changed.
check_commit
expect git 'the commit' "$commit" "$released"
end_if_wrong
run .packaging/bill.sh "$version" "$folder"
(cd "$folder" && sha256sum -- * > "$parts/SHA256SUMS")
mv "$parts/SHA256SUMS" "$folder"
printf '\n%s is in %s\n' "$version" "$folder"
cat "$folder/SHA256SUMS"
