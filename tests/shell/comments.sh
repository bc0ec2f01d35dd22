#!/bin/sh
# Checks that the first sentence of each doc comment, and of the comment that opens a file, stands
# alone: it begins with a noun or a verb, not with "Of", "The same", "Who" or a bare participle such
# as "Made by". Prints each offence.
set -eu
cd "$(dirname "$0")/../.."

find core ops nn optim examples -name '*.h' -o -name '*.cpp' | sort | xargs awk '
  # Participles without what they belong to: "Made by …", not "Padded rows".
  function is_bare(words) {
    return words ~ /^(Given|Made|Taken|Kept|Held)( |,|\.|$)/ ||
      words ~ /^([A-Z][a-z]*[^e]ed|Built|Cut|Done|Drawn|Found|Hidden|Left|Lost|Seen|Sent|Shown|Written) (above|again|along|as|at|before|behind|below|by|for|from|in|into|of|on|once|only|so|through|to|when|where|with)( |$)/
  }
  FNR == 1 { inside = code = 0 }
  {
    doc = $0 ~ /^ *\/\/\/([^<]|$)/
    opening = !code && $0 ~ /^\/\// && !doc
    words = $0
    sub(/^ *\/\/+ */, "", words)
    if ((doc || opening) && !inside &&
        (words ~ /^(Of|That of|Those of|The same|Who|Whose)( |,|\.|:|;|$)/ || is_bare(words))) {
      print FILENAME ":" FNR ": " words
      offences++
    }
    inside = doc || opening
    if (!inside && $0 !~ /^ *$/ && $0 !~ /^#pragma once/) code = 1
  }
  END { exit (offences > 0) }
'
