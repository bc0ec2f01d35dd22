#!/bin/sh
# From nothing to a text: installs what the build needs, builds, trains a Transformer-XL on this
# project's own source for about two minutes, scores it, generates text, and writes a report that a
# browser opens.
# Everything stays in build-quickstart and out/quickstart. Arguments are passed on to the training,
# such as --model transformer.
set -eu
cd "$(dirname "$0")/.."
build=build-quickstart
run=out/quickstart
char_lm=$build/examples/char_lm/char_lm

headline() {
  printf '\n== %s\n' "$*"
}

headline 'Building'
tests/packages.sh
[ -f "$build/build.ninja" ] ||
  meson setup "$build" --buildtype=release -Dtests=false -Ddefault_library=static -Dmpi=disabled
ninja -C "$build" examples/char_lm/char_lm

headline 'Training'
overwrite=--overwrite
for flag; do case $flag in --resume | --overwrite) overwrite= ;; esac; done
if [ -e "$run/last.safetensors" ] && [ -n "$overwrite" ]; then
  echo "replacing the run in $run; --resume would continue it"
fi
"$char_lm" train --model transformer_xl --out_dir "$run" $overwrite "$@"

headline 'Score on the last tenth of the text, which the model was not trained on'
"$char_lm" eval "$run"

headline "A text that it generates (also in $run/sample.txt)"
"$char_lm" generate "$run" --prompt 'Tensor ' --length 600 | tee "$run/sample.txt"

headline 'A report for a browser'
"$char_lm" report "$run" --prompt 'Tensor ' --out "$run/report.html"
echo "Open it: file://$PWD/$run/report.html"
