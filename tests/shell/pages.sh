#!/bin/sh
# Checks that each source file which a page of the project names in `backquotes` is there, by its path from
# the project's folder or from that of the page, that headers for users are installed, that pictures are there and small, that what builds the book
# installs what it needs, and that the studies give reasons for the outcomes that they have.
set -eu
cd "$(dirname "$0")/../.."
offences=0

offend() {
  echo "$1"
  offences=$((offences + 1))
}

pages=$(git ls-files '*.md' 2> /dev/null || find . -name '*.md' -not -path './build*')

for page in $pages; do
  folder=$(dirname "$page")
  for name in $(grep -oE '`[A-Za-z0-9_./-]+\.(h|cpp|sh|py|awk|md|json)`' "$page" | tr -d '`' | sort -u); do
    case $name in
      *[*{]* | metrics.json*) continue ;;
    esac
    [ -e "$name" ] || [ -e "$folder/$name" ] ||
      offend "$page: \`$name\` is not there"
  done
done

# A header is installed when a page recommends it to those who write their own variants, ops and programs. What
# ops/README.md names below its first section is for readers of kernels, and so are the stops of README.md.
copies=$(mktemp -d)
trap 'rm -rf "$copies"' EXIT
core/public_headers.sh "$copies" | tr ' ' '\n' > "$copies/installed"
for page in nn/README.md optim/README.md ops/README.md examples/README.md examples/COOKBOOK.md; do
  folder=$(dirname "$page")
  [ "$page" = ops/README.md ] && last='/^## /q' || last=''
  for name in $(sed "$last" "$page" | grep -oE '`[A-Za-z0-9_./-]+\.h`' | tr -d '`' | sort -u); do
    case $name in tests/* | examples/*) continue ;; esac
    grep -qxF -e "$name" -e "$folder/$name" "$copies/installed" ||
      offend "$page: \`$name\` is not installed; optim/shiftgrad.h includes what is"
  done
done

# Pictures are where pages show them, and none keeps a reader waiting.
for page in $pages; do
  for picture in $(grep -oE '(\]\(|src=")[A-Za-z0-9_./-]+\.(svg|png)' "$page" | sed 's/.*[("]//'); do
    size=$(wc -c < "$(dirname "$page")/$picture" || echo 0)
    [ "$size" -gt 0 ] && [ "$size" -lt 150000 ] ||
      offend "$page: $picture has $size bytes, expected a picture of less than 150000"
  done
done

# Whatever builds the book installs the packages that its page names.
for package in $(sed -n 's/^ *apt-get install //p' examples/book/README.md); do
  for builder in .github/workflows/book.yml tests/packages.txt; do
    grep -q -- "$package" "$builder" ||
      offend "$builder: does not install $package, which the book needs"
  done
done

# The report's reasons are those for its outcomes, claim by claim.
outcomes=$(awk '
  function end() { if (claim) print claim ":" found }
  /^## / { end(); claim = substr($0, 4); found = "" }
  /^\*\*holds\*\*( in [0-9]+ of [0-9]+ settings)?: / { found = found " yes" }
  /^\*\*not at this size\*\*: / { found = found " no" }
  /^\*\*the opposite holds\*\*: / { found = found " opposite" }
  /^- (yes|no|opposite): / { found = found " " substr($2, 1, length($2) - 1) }
  END { end() }' examples/studies/claims/README.md)
for file in examples/studies/claims/*.sh; do
  title=$(sed -n "s/^claim '\([^']*\)'.*/\1/p; s/^claim \"\([^\"]*\)\".*/\1/p" "$file")
  explained=$(sed -n "s/^because '\([a-z ]*\)'.*/\1/p" "$file" | awk -v title="$title" '{ print title ": " $0 }')
  [ -z "$explained" ] || echo "$outcomes" | grep -qxF "$explained" ||
    offend "$file: a reason for other outcomes than those of the report: $explained"
done
[ "$offences" = 0 ]
