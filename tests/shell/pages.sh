#!/bin/sh
# Checks that each source file which a page of the project names in `backquotes` is there, by its path from
# the project's folder or from that of the page, and that pages agree that have the same table.
set -eu
cd "$(dirname "$0")/../.."
offences=0

for page in $(git ls-files '*.md' 2> /dev/null || find . -name '*.md' -not -path './build*'); do
  folder=$(dirname "$page")
  for name in $(grep -oE '`[A-Za-z0-9_./-]+\.(h|cpp|sh|py|awk|md|json)`' "$page" | tr -d '`' | sort -u); do
    case $name in
      *[*{]* | metrics.json*) continue ;;
    esac
    [ -e "$name" ] || [ -e "$folder/$name" ] || {
      echo "$page: \`$name\` is not there"
      offences=$((offences + 1))
    }
  done
done

# The first page has the verdicts of the report that examples/claims.sh wrote.
verdicts=$(mktemp)
grep '^| \[.*](examples/claims/README.md#' README.md | sed 's,](examples/claims/README.md#,](#,' > "$verdicts"
[ -s "$verdicts" ] && grep '^| \[.*](#' examples/claims/README.md | diff - "$verdicts" || offences=$((offences + 1))
rm "$verdicts"

# The report's reasons are those for its outcomes, claim by claim.
outcomes=$(awk '
  function end() { if (claim) print claim ":" found }
  /^## / { end(); claim = substr($0, 4); found = "" }
  /^\*\*holds\*\*: / { found = found " yes" }
  /^\*\*not at this size\*\*: / { found = found " no" }
  /^\*\*the opposite holds\*\*: / { found = found " opposite" }
  /^- (yes|no|opposite): / { found = found " " substr($2, 1, length($2) - 1) }
  END { end() }' examples/claims/README.md)
for file in examples/claims/*.sh; do
  title=$(sed -n "s/^claim '\([^']*\)'.*/\1/p; s/^claim \"\([^\"]*\)\".*/\1/p" "$file")
  explained=$(sed -n "s/^because '\([a-z ]*\)'.*/\1/p" "$file" | awk -v title="$title" '{ print title ": " $0 }')
  [ -z "$explained" ] || echo "$outcomes" | grep -qxF "$explained" || {
    echo "$file: a reason for other outcomes than those of the report: $explained"
    offences=$((offences + 1))
  }
done
[ "$offences" = 0 ]
