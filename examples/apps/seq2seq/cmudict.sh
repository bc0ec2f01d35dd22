#!/bin/sh
# Spelling to pronunciation, from the CMU pronouncing dictionary of Debian's package festlex-cmu:
#
#     examples/apps/seq2seq/cmudict.sh FOLDER [DICTIONARY]
#
# writes train.tsv, valid.tsv and test.tsv. A row is a word, a tab and its phonemes, separated by
# spaces. Stress is left out, and so are words with anything but letters and apostrophes in them. Of
# every 20 words in the dictionary's order, one goes to the test and one to validation, with all of
# its pronunciations.
set -eu
folder=${1:?expected a folder for train.tsv, valid.tsv and test.tsv}
dictionary=${2:-/usr/share/festival/dicts/cmu/cmudict-0.4.out}
[ -f "$dictionary" ] || {
  echo "$dictionary: missing; apt-get install festlex-cmu installs it" >&2
  exit 1
}
mkdir -p "$folder"
# From ("word" nil (((t r ih) 1) ((p ax) 0))) to: word t r ih p ax
sed -nE "s/^\(\"([a-z']+)\" [a-z0-9]+ (\(.*\))\) *$/\1 \2/p" "$dictionary" |
  sed -E 's/\) [0-9]\)//g; s/[()]/ /g; s/  +/ /g; s/ $//' |
  awk -v folder="$folder" '
    $0 in seen || NF < 2 { next }
    {
      seen[$0]
      if ($1 != word) ++count
      word = $1
      part = count % 20 == 0 ? "test" : count % 20 == 10 ? "valid" : "train"
      sub(/ /, "\t")
      print > (folder "/" part ".tsv")
    }'
