#!/bin/sh
# Prints a version script, by which a shared library exports what the public headers name, of what nm ($1) finds in the
# static library $2. An inline function and what a template makes are the program's own, but for what a source
# instantiates by name. Types of std that a program can name are exported too, so that it catches or casts the same
# ones; what the library makes of other libraries' templates is its own. With --shared-with-others, what else belongs to
# shiftgrad is exported as shiftgrad_private: the libraries of both precisions call it.
set -eu
root=$(dirname "$0")/..
copies=$(mktemp -d)
trap 'rm -rf "$copies"' EXIT
"$root/core/public_headers.sh" "$copies" > /dev/null

# words KIND: prints each name of standard input once, behind the kind.
words() {
  grep -oE '[A-Za-z_][A-Za-z0-9_]*' | sort -u | sed "s/^/$1 /"
}
{
  find "$copies" -name '*.h' -exec sed 's,//.*,,' {} + | words public
  grep -rh --include='*.cpp' '^template [^<]' "$root/core" "$root/ops" "$root/nn" "$root/optim" | words instantiated
} > "$copies/words"

# The name of shiftgrad::f32::Tensor::item in an object is _ZNK9shiftgrad3f326Tensor4itemEv: before each part comes its
# length. What has none is an operator. Tables, thunks and guards of something have a few letters more in front, what
# lies in a function a Z. A name of std's own begins with _ and a capital letter or another _. W is a weak function.
"$1" -P -g --defined-only "$2" | awk -v shared="${3-}" '
  BEGIN { print "shiftgrad {\n  global:" }
  FNR == NR { words[$1, $2]; next }
  $1 in known { next }
  { known[$1] }
  /^_ZT[IS]N?St/ && !/nlohmann|3tbb|[0-9]_[A-Z_]/ { print "    " $1 ";" }
  !/^_ZT[ISV]Z/ && match($1, /^_Z(GV|T[CHISTVW]|Th[n0-9]+_|Tv[0-9]+_n?[0-9]+_)?Z*N[KORV]*9shiftgrad(3f32|3f64)?/) {
    rest = substr($1, RLENGTH + 1)
    is_public = 1
    name = ""
    while (match(rest, /^[0-9]+/)) {
      name = substr(rest, RLENGTH + 1, substr(rest, 1, RLENGTH))
      rest = substr(rest, RLENGTH + length(name) + 1)
      if (!(("public", name) in words)) is_public = 0
    }
    if ($2 == "W" && !(("instantiated", name) in words)) next
    if (is_public) print "    " $1 ";"
    else others = others "    " $1 ";\n"
  }
  END {
    print "  local:\n    *;\n};"
    if (shared != "") printf "shiftgrad_private {\n  global:\n%s};\n", others
  }' "$copies/words" -
