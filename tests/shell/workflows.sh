#!/bin/sh
# Checks .github/workflows by zizmor (.packaging/requirements.txt) and, where it is, by actionlint: each
# action by its hash, no more rights than a job needs, no text of strangers in a command. A workflow with another
# action is refused.
set -eu
command -v zizmor > /dev/null || { echo 'SKIPPED: zizmor is not installed'; exit 77; }
cd "$(dirname "$0")/../.."
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
zizmor --offline --quiet --no-progress .github/workflows
! command -v actionlint > /dev/null || actionlint .github/workflows/*.yml

for workflow in .github/workflows/*.yml; do
  # A hash says nothing to a reader; the version behind it does.
  if grep 'uses:' "$workflow" | grep -vE '@[0-9a-f]{40} # v[0-9]+\.[0-9]+\.[0-9]+$'; then
    echo "FAILED: $workflow: expected OWNER/ACTION@HASH # VERSION"
    exit 1
  fi
  grep -q '^permissions:$' "$workflow" || { echo "FAILED: $workflow has no permissions, expected what it needs"; exit 1; }
done
sed 's/checkout@[0-9a-f]* #/checkout@v4 #/' .github/workflows/ci.yml > "$place/ci.yml"
if zizmor --offline --quiet --no-progress "$place/ci.yml" > "$place/found" 2>&1; then
  echo 'FAILED: an action without a hash is not found'
  exit 1
fi
grep -q unpinned-uses "$place/found" || { cat "$place/found"; exit 1; }
