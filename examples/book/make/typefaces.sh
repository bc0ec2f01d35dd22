#!/bin/sh
# Writes the book's typefaces into the folder $1, in woff2, with no more than the characters of western languages
# and of simple formulas (of indices they have a few, which would stand beside others from another typeface): PT Serif for the text, PT Sans for what stands around it, PT Mono for code. They are
# Debian's fonts-paratype, under the Open Font License. What is there already is left alone.
set -eu
folder=$1
from=${TYPEFACES:-/usr/share/fonts/truetype/paratype}
characters=U+0020-007E,U+00A0-017F,U+0391-03C9,U+2010-2027,U+2032,U+2033,U+2190-2193,U+2200-2265

# typeface NAME FILE
typeface() {
  [ -f "$folder/$1.woff2" ] ||
    pyftsubset "$from/$2.ttf" --unicodes=$characters --flavor=woff2 --layout-features='*' --output-file="$folder/$1.woff2"
}
mkdir -p "$folder"
typeface serif PTF55F
typeface serif-italic PTF56F
typeface serif-bold PTF75F
typeface sans PTS55F
typeface sans-bold PTS75F
typeface mono PTM55F
