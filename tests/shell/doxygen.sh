#!/bin/sh
# Builds the reference from the pages and the headers' comments, all of which doxygen has to understand. Skipped
# where it is not installed.
set -eu
command -v doxygen > /dev/null || { echo 'SKIPPED: doxygen is not installed'; exit 77; }
cd "$(dirname "$0")/../.."
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

{ cat .doxygen/Doxyfile; echo "OUTPUT_DIRECTORY = $place"; } | doxygen -
for page in classshiftgrad_1_1Tensor structshiftgrad_1_1LanguageModel language__model_8h; do
  [ -s "$place/html/$page.html" ] || { echo "no page $page"; exit 1; }
done
# The start page is the cookbook, and each folder has its page behind it.
grep -q 'Each recipe has the lines' "$place/html/index.html" || { echo 'the start page is not the cookbook'; exit 1; }
grep -q 'A Storage has a value buffer' "$place"/html/md_core_README.html || { echo 'no page of core'; exit 1; }
# The equation that the file opens with.
grep -q 'W_output' "$place/html/language__model_8h.html"
