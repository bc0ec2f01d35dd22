#!/bin/sh
# Prints a version script, by which a shared library exports what the public headers name, of what nm ($1) finds in the
# static library $2. Types of std are exported too, so that a program that catches or casts them sees the same ones;
# what the library makes of other libraries' templates is its own. With --shared-with-others, what else belongs to
# shiftgrad is exported as shiftgrad_private: the libraries of both precisions call it.
set -eu
copies=$(mktemp -d)
trap 'rm -rf "$copies"' EXIT
"$(dirname "$0")/public_headers.sh" "$copies" > /dev/null
find "$copies" -name '*.h' -exec sed 's,//.*,,' {} + | grep -oE '[A-Za-z_][A-Za-z0-9_]*' | sort -u > "$copies/words"

# The name of shiftgrad::f32::Tensor::item in an object is _ZNK9shiftgrad3f326Tensor4itemEv: before each part comes its
# length. What has none is an operator. Tables, thunks and guards of something have a few letters more in front.
"$1" -P -g --defined-only "$2" | awk -v shared="${3-}" '
  BEGIN { print "shiftgrad {\n  global:" }
  FNR == NR { public[$1]; next }
  $1 in known { next }
  { known[$1] }
  /^_ZT[IS]N?St/ && !/nlohmann|3tbb/ { print "    " $1 ";" }
  match($1, /^_Z(GV|T[CHISTVW]|Th[n0-9]+_|Tv[0-9]+_n?[0-9]+_)?Z*N[KORV]*9shiftgrad(3f32|3f64)?/) {
    rest = substr($1, RLENGTH + 1)
    length_of_name = match(rest, /^[0-9]+/) ? substr(rest, 1, RLENGTH) : 0
    name = substr(rest, RLENGTH + 1, length_of_name)
    if (!length_of_name || name in public) print "    " $1 ";"
    else others = others "    " $1 ";\n"
  }
  END {
    print "  local:\n    *;\n};"
    if (shared != "") printf "shiftgrad_private {\n  global:\n%s};\n", others
  }' "$copies/words" -
