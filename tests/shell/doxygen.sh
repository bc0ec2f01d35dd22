#!/bin/sh
# Builds the reference from the pages and the public headers, whose comments doxygen has to understand, and in which
# each symbol has one. Skipped where it is not installed.
set -eu
command -v doxygen > /dev/null || { echo 'SKIPPED: doxygen is not installed'; exit 77; }
cd "$(dirname "$0")/../.."
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

.doxygen/build.py "$place"
# has PAGE TEXT
has() {
  tr '\n' ' ' < "$place/reference/$1.html" | sed 's/<[^>]*>//g' > "$place/text"
  grep -qF -- "$2" "$place/text" || { echo "$1 lacks $2"; exit 1; }
}
# The start page is the cookbook, and each folder has its page behind it.
has index 'Each recipe has the lines'
has md_core_README 'A Storage has a value buffer'
# The equation that a header opens with, and the types and functions in it.
has group__nn__models__language__model 'W_output'
has group__nn__models__language__model 'shiftgrad::LanguageModelConfig'
has group__ops__matmul 'PyTorch: matmul'
# The first sentence goes on behind "et al.".
has modules 'relative attention (Dai et al. 2019, section 3.3)'
# What is said of a field for --help, behind a member, or once above several, is said of each.
has structshiftgrad_1_1LanguageModelConfig 'Width of the tokens'
has structshiftgrad_1_1Aft '[C, C]'
has classshiftgrad_1_1Dims 'The first entry'
# Headers come in the order of reading.
stops=$(grep -o '>\(core\|ops\|nn\)/\(layout\|tape\|shape\|shift\|module\|attention\)\.h<' "$place/reference/modules.html" | tr -d '<>')
[ "$(echo $stops)" = 'core/layout.h core/tape.h ops/shape.h ops/shift.h ops/attention.h nn/module.h nn/attention.h' ] ||
  { echo "the order is" $stops; exit 1; }

# A symbol of which nothing is said is an error.
mkdir "$place/copy"
cp -r --parents .doxygen .github core examples/*.md examples/*/*.md examples/*/*/*.md nn ops optim tests/*.md tests/*/*.md \
  README.md "$place/copy"
echo 'GENERATE_HTML = NO' >> "$place/copy/.doxygen/Doxyfile"
sed -i 's/^Tensor matmul(.*;/&\n\nTensor unsaid();/' "$place/copy/ops/matmul.h"
if "$place/copy/.doxygen/build.py" "$place/without" 2> "$place/errors"; then echo 'nothing is wrong with unsaid'; exit 1; fi
grep -q 'unsaid() (function) of .* is not documented' "$place/errors" || { cat "$place/errors"; exit 1; }
