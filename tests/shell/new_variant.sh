#!/bin/sh
# Adds a variant of attention to a copy of the project, as .github/CONTRIBUTING.md says, in the files that
# are listed there and in no others: the attention of outside/forgetting_attention.h, as one of the
# library's own. What it changes is compiled; all else comes from the build in the folder $1. The variant
# then obeys the laws, is trained, resumed, scored, drawn, worked through, converted, and is a layer in
# PyTorch.
#
#     tests/shell/new_variant.sh build         # the library, char_lm, show_layer, run_layer and the laws, in float
#     tests/shell/new_variant.sh build all     # everything that there is, and all tests that know of layers
set -eu
tests=$(cd "$(dirname "$0")/.." && pwd)
project=$(dirname "$tests")
additions=$tests/shell/new_variant
built=$(realpath "$1")
place=$built/new_variant
copy=$place/project
most=8
fail() {
  echo "FAILED: $*"
  exit 1
}

# --- The copy, and the additions.

rm -rf "$place"
mkdir -p "$copy"
trap 'rm -rf "$place"' EXIT
cd "$project"
{
  git ls-files --cached --others --exclude-standard 2> "$place/output" ||
    find . \( -name .git -o -path './build*' \) -prune -o ! -type d -print
} | xargs -d '\n' cp -dp --parents -t "$copy"
cd "$copy"

# before TEXT FILE: puts standard input before the first line that begins with the text.
before() {
  cat > "$place/lines"
  awk -v text="$1" -v lines="$place/lines" '
    !found && index($0, text) == 1 { found = 1; while ((getline line < lines) > 0) print line }
    { print }
    END { exit !found }' "$2" > "$place/file" || fail "$2 has no line '$1'"
  cat "$place/file" > "$2"
}

cp "$additions/forgetting_attention.h" "$additions/forgetting_attention.cpp" nn/
sed -i "s/ 'transformer_xl_attention.cpp',/& 'forgetting_attention.cpp',/" nn/meson.build
before '#include "nn/local_rnn.h"' nn/models/mixers.h << 'END'
#include "nn/forgetting_attention.h"
END
sed -i 's/, LocalRnnConfig>;/, LocalRnnConfig, ForgettingAttentionConfig>;/' nn/models/mixers.h
before '## The Attention Free Transformer' nn/README.md << 'END'
## Attention that learns to forget
    score_ij = q_i·k_j / √D - slope_h δ

This is ALiBi with a slope that each head learns. It takes time O(T K C) and memory O(K C). Slopes start at 0.

END
before '/// R_δ = ' tests/support/oracles/attention.h << 'END'
/// Forgetting: q·k / √D - slope_h δ.
inline Values oracle(const Sized<ForgettingAttentionConfig>& config, const Weights& weights,
                     const Input& input) {
  int64_t H = *config.n_head, D = config.d_model / H;
  const Values& slope = weights["slope"];
  auto score = [&](const Pair& pair) {
    return pair.content() / std::sqrt(static_cast<double>(D)) -
           slope(pair.h) * static_cast<double>(pair.delta());
  };
  return attention_oracle({H, D, config.sight}, weights, input, score);
}

inline int64_t count(const Sized<ForgettingAttentionConfig>& c) {
  return count_of_heads(c.d_model, c.d_model, true) + *c.n_head;
}

END
before '  using Music = ' tests/support/layer_rows.cpp << 'END'
  using Forgetting = ForgettingAttentionConfig;
  rows.push_back(mixer("forgetting", Sized{Forgetting{}, {6, 2}}));
  rows.push_back(mixer("forgetting window 3", Sized{Forgetting{.sight = {.window = 3}}, {6, 3}}));
END
before '- ' .github/CHANGELOG.md << 'END'
- `forgetting_attention` is ALiBi with slopes that are learned.
END

# --- They are in the files that the list names, one for each, and the list is short.

sed -n '/^## A new variant of attention/,/^## What/s/^| `\{0,1\}\([^` ]*\)`\{0,1\} |.*/\1/p' "$project/.github/CONTRIBUTING.md" |
  sed '/^file$/d; s/NAME/forgetting_attention/' | sort > "$place/listed"
[ -s "$place/listed" ] || fail 'CONTRIBUTING.md lists no files'
[ "$(wc -l < "$place/listed")" -le $most ] || fail "more than $most files: $(cat "$place/listed")"
find . -type f | sed 's,^\./,,' | while read -r file; do
  cmp -s "$file" "$project/$file" || echo "$file"
done | sort > "$place/touched"
diff "$place/listed" "$place/touched" || fail 'the files above are listed (<) or touched (>) alone'
for page in includes comments pages; do
  "tests/shell/$page.sh" > "$place/output" || fail "$page: $(cat "$place/output")"
done

# --- A build of the copy. What is in $built is taken over, with the times and the commands by which ninja
# knows what has to be made again. A source that is made of several counts as old where it is as it was.

folder=build
case $built in "$project"/*) folder=${built#"$project"/} ;; esac
build=$copy/$folder
options=$(sed -n '/^\[options\]/,/^$/s/^\([^[ ]*\) = \(.*\)/-D\1=\2/p' "$built/meson-private/cmd_line.txt")
# shellcheck disable=SC2086
meson setup "$build" "$copy" $options > "$place/output" 2>&1 || fail "$(cat "$place/output")"
# all_targets PATTERN: those in the copy's build.
all_targets() {
  ninja -C "$build" -t targets all | sed 's/: .*//' | grep "$1" || true
}
targets='examples/apps/char_lm/char_lm examples/apps/show_layer/show_layer examples/apps/run_layer/run_layer tests/libdoctest_main.a'
bridge=$(all_targets '^examples/python/extension/_extension[^/]*$')
cd "$built"
# shellcheck disable=SC2086
ninja -C "$build" -t inputs $targets $bridge | grep -v '^[./]' | while read -r file; do
  if [ -f "$file" ] && [ ! -e "$build/$file" ]; then
    cp -p --parents "$file" "$build"
  fi
done
cp -p .ninja_deps "$build"
grep -v '	build\.ninja	' .ninja_log > "$build/.ninja_log"
(cd "$build" && find . -name '*-unity*.cpp') | while read -r file; do
  if [ -f "$file" ] && sed "s,$copy/,$project/," "$build/$file" | cmp -s - "$file" &&
    ! grep -qFf "$place/touched" "$file"; then
    touch -r "$file" "$build/$file"
  fi
done
cd "$build"
export LD_LIBRARY_PATH="$build${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
# made TARGET...: ninja makes them.
made() {
  ninja "$@" > "$place/output" || fail "$(cat "$place/output")"
  grep -o 'Compiling .*' "$place/output" || true
}

# The laws are compiled beside it, by the command of any test.
precompiled=$(all_targets '^tests/tests-f32\.p/precompiled\.h\.[a-z]*$')
[ -z "$precompiled" ] || made "$precompiled"
command=$(ninja -t commands tests/tests-f32 | sed -n '/-o tests\/tests-f32\.p\/[^ ]*unity0/p')
eval "${command%% -MD *} -c '$copy/tests/shell/new_variant/laws.cpp' -o '$place/laws.o'" > "$place/laws" 2>&1 &
laws=$!
# shellcheck disable=SC2086
made $targets
wait $laws || fail "$(cat "$place/laws")"

# --- The laws, in a program that is linked as the tests are.

link=$(ninja -t commands -s tests/tests-f32 | sed 's, tests/tests-f32\.p/[^ ]*\.o,,g')
eval "${link%% -o *} '$place/laws.o' -o tests/laws ${link##* -o tests/tests-f32}"
tests/laws > "$place/output" || fail "$(cat "$place/output")"

# --- The programs, and the layer in PyTorch.

"$additions/uses.sh" examples/apps/char_lm/char_lm examples/apps/show_layer/show_layer || fail 'the programs'

if [ -z "$bridge" ] || [ ! -e "$built/$bridge" ]; then
  echo 'The bridge to PyTorch is not built.'
else
  # In double it stays as it was, and so does nanobind, which lies elsewhere and would be compiled again.
  parts=$(ninja -t inputs "$bridge" | grep '^examples/.*\.[oa]$' | grep -v -e f64 -e libnanobind)
  # shellcheck disable=SC2086
  made $parts
  eval "$(ninja -t commands -s "$bridge")"
  RUN_LAYER=$PWD/examples/apps/run_layer/run_layer "$copy/tests/shell/bridge.sh" "$additions/bridge.py" "$bridge" "$PWD"
fi

# --- And what else knows of layers and models, if that is asked for.

[ "${2-}" = all ] || exit 0
test_programs='tests/tests-f32 tests/tests-f64'
# shellcheck disable=SC2086
made $test_programs $bridge examples/apps/run_layer/run_layer_f64 examples/apps/seq2seq/seq2seq examples/book/study tests/run_model
for program in $test_programs; do
  $program > "$place/output" || fail "$(cat "$place/output")"
done
meson test --no-rebuild --print-errorlogs char_lm seq2seq convert configs flags show_layer study \
  'PyTorch bridge layers' 'PyTorch bridge load' 'PyTorch bridge messages'
