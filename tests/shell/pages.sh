#!/bin/sh
# Checks that each source file which a page of the project names in `backquotes` is there, by its path from
# the project's folder or from that of the page, that pictures are there and small, and that each measured
# figure has a command. With --list it prints these figures with their commands and ends.
set -eu
cd "$(dirname "$0")/../.."
offences=0

offend() {
  echo "$1"
  offences=$((offences + 1))
}

pages=$(git ls-files '*.md' 2> /dev/null || find . -name '*.md' -not -path './build*')
figures=$(awk -f tests/shell/figures.awk README.md core/README.md ops/README.md nn/README.md optim/README.md tests/README.md \
  tests/bench/README.md \
  $(find examples -name '*.md' | sort))
if [ "${1:-}" = --list ]; then
  echo "$figures"
  exit
fi

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

# Measured figures have a command; this sees what is one.
without=$(echo "$figures" | sed -n 's/ | -$/ has no command/p')
[ -z "$without" ] || offend "$without"
cases=$(mktemp)
printf '%s\n\n' '# A' 'It takes 3.5 ms.' '| a | ms |
|---|---|
| b | 7 |' 'A copy is 7 MB. <!-- not measured -->' '# B' 'It takes 3 ms (`bench --only b`).' '# C' \
  '    char_lm eval out' 'This gives 1.234, as `bits` say.' '# D' '10 % more ([there](README.md#b)).' \
  '# E' 'In 2018, 64 channels in `3 ms`.' '| x |
|---|
| 64 |' > "$cases"
found=$(awk -f tests/shell/figures.awk "$cases" | sed 's/.* | //' | tr '\n' ';')
[ "$found" = '-;-;bench --only b;char_lm eval out;see README.md#b;' ] ||
  offend "figures.awk finds other figures or commands: $found"
rm "$cases"

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
