#!/bin/sh
# Builds the reference from the headers' comments, all of which doxygen has to understand. Skipped
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
# The equation that the file opens with.
grep -q 'W_output' "$place/html/language__model_8h.html"
