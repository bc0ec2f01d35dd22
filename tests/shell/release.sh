#!/bin/sh
# Checks .packaging/release.sh on a copy of what it reads: each mistake is one line that names the file, the value
# and what was expected; and with stand-ins for the scripts that build, a release has all files and their checksums.
set -eu
command -v git > /dev/null || { echo 'SKIPPED: git is not installed'; exit 77; }
root=$(realpath "$(dirname "$0")/../..")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
mkdir "$place/project" "$place/bin"
cd "$place/project"
(cd "$root" && cp --parents -r LICENSE meson.build .gitignore .github .packaging examples/python/meson.build \
  examples/python/pyproject.toml examples/book/copy.sh tests/vectors/README.md tests/vectors/VERSION "$place/project")
export GIT_AUTHOR_NAME=test GIT_AUTHOR_EMAIL=test GIT_COMMITTER_NAME=test GIT_COMMITTER_EMAIL=test
export GIT_CONFIG_GLOBAL=/dev/null
changelog=.github/CHANGELOG.md

fail() {
  echo "FAILED: $1"
  exit 1
}

commit() {
  git add --all
  git commit --quiet --allow-empty --message "$1"
}

# says TEXT ARGUMENT...: release.sh with these arguments prints this on standard error, and fails if it is not empty.
says() {
  text=$1
  shift
  status=0
  .packaging/release.sh "$@" > "$place/output" 2> "$place/errors" || status=$?
  [ "$(cat "$place/errors")" = "$text" ] || fail "release.sh $*: $(cat "$place/errors"), expected $text"
  [ "$status" = "$([ -z "$text" ] && echo 0 || echo 1)" ] || fail "release.sh $*: status $status"
}

# mistake TEXT FILE SCRIPT: after sed's script has changed the file, a check says this alone.
mistake() {
  cp "$2" "$place/kept"
  sed -i "$3" "$2"
  ! cmp -s "$2" "$place/kept" || fail "sed '$3' changes nothing in $2"
  commit 'A mistake'
  says "$1" --check 9.8.7
  cp "$place/kept" "$2"
  commit 'As it was'
}

# --- A project that is ready for 9.8.7.
sed -i "0,/version: '[^']*'/s//version: '9.8.7'/" meson.build examples/python/meson.build
sed -i 's/^version = ".*"/version = "9.8.7"/' examples/python/pyproject.toml
sed -i '1s/(.*)/(9.8.7-1)/' .packaging/debian/changelog
sed -i 's/^version: .*/version: 9.8.7/; s/^date-released: .*/date-released: 2031-02-03/' .github/CITATION.cff
printf '# Changelog\n\n## [Unreleased]\n\n## [9.8.7] - 2031-02-03\n### Added\n\n- All.\n\n## [0.1.0] - 2030-01-01\n- Less.\n' \
  > $changelog
git init --quiet
says 'git: HEAD is missing, expected a commit' --check 9.8.7
commit 'The project'
says '' --check 9.8.7
says '' --notes 9.8.7
[ "$(cat "$place/output")" = '### Added

- All.' ] || fail "the notes are $(cat "$place/output")"

# --- Each mistake.
for version in '' 9.8 v9.8.7 9.08.7 '9.8.7 '; do
  says "release.sh: VERSION is '$version', expected three numbers such as 1.0.0" --check "$version"
done
for file in meson.build examples/python/meson.build; do
  mistake "$file: version is 9.8.6, expected 9.8.7" $file 's/9\.8\.7/9.8.6/'
done
mistake 'examples/python/pyproject.toml: version is 9.8.7.dev0, expected 9.8.7' examples/python/pyproject.toml \
  's/9\.8\.7/&.dev0/'
mistake 'examples/python/pyproject.toml: version is missing, expected 9.8.7' examples/python/pyproject.toml \
  '/^version/d'
mistake '.packaging/debian/changelog: the newest version is 9.8.6, expected 9.8.7' .packaging/debian/changelog \
  '1s/9\.8\.7/9.8.6/'
mistake '.github/CITATION.cff: version is 9.8.6, expected 9.8.7' .github/CITATION.cff 's/9\.8\.7/9.8.6/'
mistake '.github/CITATION.cff: date-released is 2031-02-04, expected 2031-02-03' .github/CITATION.cff \
  's/2031-02-03/2031-02-04/'
mistake 'examples/python/pyproject.toml: authors is Somebody, expected The shiftgrad authors' \
  examples/python/pyproject.toml 's/^authors = .*/authors = [{ name = "Somebody" }]/'
mistake '.packaging/debian/control: Maintainer is Somebody, expected The shiftgrad authors' .packaging/debian/control \
  's/^Maintainer: .* </Maintainer: Somebody </'
mistake '.github/CITATION.cff: authors is Somebody, expected The shiftgrad authors' .github/CITATION.cff \
  's/^  - name: .*/  - name: Somebody/'
mistake '.github/CITATION.cff: license is MIT-0, expected MIT' .github/CITATION.cff 's/^license: MIT/&-0/'
sed -i 's/^keywords = .*/keywords = ["one of them", "another"]/' examples/python/pyproject.toml
sed -i '/^keywords:/,$d' .github/CITATION.cff
printf 'keywords:\n  - one of them\n  - another\n' >> .github/CITATION.cff
mistake '.github/CITATION.cff: keywords is one of them, expected one of them,another' .github/CITATION.cff '$d'
mistake "$changelog: the heading is missing, expected ## [9.8.7] - YYYY-MM-DD" $changelog '/9\.8\.7/d; /Added/d; /All/d'
mistake "$changelog: the heading is ## [9.8.7], expected ## [9.8.7] - YYYY-MM-DD" $changelog 's/ - 2031.*//'
mistake "$changelog: [9.8.7] is empty, expected what the version is or changes" $changelog '/Added/d; /All/d'
mistake "$changelog: the number of lines below [Unreleased] is 1, expected 0" $changelog 's/^## \[Unrel.*/&\n- More./'
echo >> LICENSE
says 'git: 1 files are not committed, expected 0; the first is  M LICENSE' --check 9.8.7
git checkout --quiet LICENSE
touch new
says 'git: 1 files are not committed, expected 0; the first is ?? new' --check 9.8.7
rm new
git tag v9.8.7 HEAD~1
says "git: the commit of the tag v9.8.7 is $(git rev-parse HEAD~1), expected $(git rev-parse HEAD)" --check 9.8.7
git tag --force v9.8.7 > /dev/null
says '' --check 9.8.7
says "meson.build: version is 9.8.7, expected 9.8.8
examples/python/meson.build: version is 9.8.7, expected 9.8.8
examples/python/pyproject.toml: version is 9.8.7, expected 9.8.8
.packaging/debian/changelog: the newest version is 9.8.7, expected 9.8.8
.github/CITATION.cff: version is 9.8.7, expected 9.8.8
$changelog: the heading is missing, expected ## [9.8.8] - YYYY-MM-DD" --check 9.8.8

# stand_in FILE LINES
stand_in() {
  mkdir -p "$(dirname "$1")"
  printf '#!/bin/sh\nset -eu\n%s\n' "$2" > "$1"
  chmod +x "$1"
}

# --- What the libraries export, from one release to the next: such a program fits, or the soname is another.
git tag --delete v9.8.7 > /dev/null
if command -v abidiff > /dev/null && command -v "${CC:-cc}" > /dev/null; then
  # exports NAME TEXT: release.sh's comparison of this source with that of v9.8.6 prints this on standard error.
  exports() {
    printf 'int kept() { return 1; }\nint %s() { return 2; }\n' "$1" > tiny.c
    commit "A library with $1"
    status=0
    .packaging/abi.sh "$place/abi" > "$place/output" 2> "$place/errors" || status=$?
    [ "$(cat "$place/errors")" = "$2" ] || fail "$1: $(cat "$place/errors"), expected $2"
    [ "$status" = "$([ -z "$2" ] && echo 0 || echo 1)" ] || fail "$1: status $status"
  }
  stand_in .packaging/libraries.sh 'mkdir -p "$2/headers"
printf "int kept();\nint gone();\n" > "$2/headers/tiny.h"
git show "$1:tiny.c" | ${CC:-cc} -g -shared -fPIC "-Wl,-soname,$(git show "$1:soname")" -x c - -o "$2/libtiny.so"'
  echo libtiny.so.9.8 > soname
  exports gone ''
  grep -q '^There is no earlier release' "$place/output" || fail "of the first release: $(cat "$place/output")"
  git tag v9.8.6
  exports gone ''
  exports new 'libtiny.so.9.8: a program of v9.8.6 does not fit, expected another soname or no such change'
  grep -q "1 Removed" "$place/output" || fail "abidiff: $(cat "$place/output")"
  echo libtiny.so.9.9 > soname
  exports new ''
  grep -q '^libtiny.so.9.8 ends with v9.8.6' "$place/output" || fail "of another soname: $(cat "$place/output")"
  git tag --delete v9.8.6 > /dev/null
fi

# --- A whole release, by stand-ins that leave files where the scripts do.
stand_in .ci/run 'echo tests'
stand_in examples/python/wheels.sh 'cd "$1"
touch shiftgrad-9.8.7.tar.gz shiftgrad-9.8.7-cp310-cp310-x.whl shiftgrad-9.8.7-cp311-cp311-x.whl
touch shiftgrad-9.8.7-cp312-abi3-x.whl'
stand_in .packaging/pythons.sh 'ls "$1"/*.whl'
stand_in .packaging/build.sh 'cd "$1"
touch libshiftgrad-dev_9.8.7-1_amd64.deb shiftgrad-tools_9.8.7-1_amd64.deb python3-shiftgrad_9.8.7-1_amd64.deb
touch shiftgrad-tools-dbgsym_9.8.7-1_amd64.deb shiftgrad_9.8.7-1.dsc shiftgrad_9.8.7-1.debian.tar.xz
touch shiftgrad_9.8.7.orig.tar.gz shiftgrad_9.8.7.orig-nanobind.tar.gz'
stand_in examples/book/build.sh 'mkdir -p "$BUILD/fonts" && cd "$BUILD"
touch index.html book.css study.js study.wasm fonts/a.woff2 notices.txt'
stand_in .packaging/bill.sh 'echo "{}" > "$2/shiftgrad-$1.cdx.json"'
commit 'Stand-ins'
for python in 3.10 3.11 3.12 3.13; do
  stand_in "$place/bin/python$python" 'exit 0'
done
ln -s "$(python3 -c 'import sys; print(sys.executable)')" "$place/bin/python3"
PATH=$place/bin:$(dirname "$(command -v git)"):/usr/bin:/bin
# Pyenv puts a program on the PATH for a Python that it does not run.
stand_in "$place/bin/python3.13" 'exit 127'
says 'PATH: python3.13 does not run with pip and ensurepip, expected for .packaging/pythons.sh' 9.8.7
stand_in "$place/bin/python3.13" 'exit 0'
export REPOSITORY_URL=https://example.org/shiftgrad
says '' 9.8.7
unset REPOSITORY_URL
vectors=shiftgrad-vectors-$(cat tests/vectors/VERSION)
cd build-release/9.8.7
[ "$(LC_ALL=C ls)" = "CITATION.cff
SHA256SUMS
libshiftgrad-dev_9.8.7-1_amd64.deb
python3-shiftgrad_9.8.7-1_amd64.deb
shiftgrad-9.8.7-cp310-cp310-x.whl
shiftgrad-9.8.7-cp311-cp311-x.whl
shiftgrad-9.8.7-cp312-abi3-x.whl
shiftgrad-9.8.7.cdx.json
shiftgrad-9.8.7.tar.gz
shiftgrad-book-9.8.7.zip
shiftgrad-tools_9.8.7-1_amd64.deb
$vectors.tar.gz
shiftgrad_9.8.7-1.debian.tar.xz
shiftgrad_9.8.7-1.dsc
shiftgrad_9.8.7.orig-nanobind.tar.gz
shiftgrad_9.8.7.orig.tar.gz" ] || fail "the release has $(ls)"
[ "$(sha256sum --check SHA256SUMS | grep -c ': OK$')" = 15 ] || fail "$(cat SHA256SUMS)"
python3 -m zipfile -l shiftgrad-book-9.8.7.zip > "$place/output"
for file in index.html notices.txt; do
  grep -q "^book/$file " "$place/output" || fail "the book has no $file"
done
tar -tzf "$vectors.tar.gz" > "$place/output"
grep -qx "$vectors/VERSION" "$place/output" || fail 'the vectors have no version'
grep -qx 'repository-code: https://example.org/shiftgrad' CITATION.cff || fail 'the citation has no address'
cd ../..

# A script that fails, one that leaves too little, and one that changes the project.
# broken FILE LINES TEXT
broken() {
  cp "$1" "$place/kept"
  stand_in "$1" "$2"
  commit 'A broken script'
  rm -rf build-release
  says "$3" 9.8.7
  [ ! -e build-release/9.8.7/SHA256SUMS ] || fail "$1: a broken release has checksums"
  cp "$place/kept" "$1"
  git checkout --quiet LICENSE
  commit 'As it was'
}
broken .ci/run 'exit 3' '.ci/run: the status is 3, expected 0'
broken examples/python/wheels.sh 'touch "$1/shiftgrad-9.8.7.tar.gz"' 'build-release: the number of wheels is 0, expected 3'
broken examples/book/build.sh 'mkdir -p "$BUILD/fonts" && cd "$BUILD"
touch index.html book.css study.js study.wasm fonts/a.woff2 notices.txt
echo "$BUILD" > book.css' "shiftgrad-book-9.8.7.zip: two builds of one commit differ, expected the same bits
.packaging/again.sh: the status is 1, expected 0"
broken .ci/run 'echo >> LICENSE' 'git: 1 files are not committed, expected 0; the first is  M LICENSE'
