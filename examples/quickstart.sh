#!/bin/sh
# From nothing to a text: installs what the build needs, builds char_lm alone, trains a Transformer-XL
# on this project's own source for about a minute, scores it, generates text, and writes a report that
# a browser opens. This takes some three minutes on two cores.
# Everything stays in build-quickstart and out/quickstart, or in the folders that BUILD and RUN name.
# Arguments are passed on to the training, such as --model transformer.
set -eu
cd "$(dirname "$0")/.."
build=${BUILD:-build-quickstart}
run=${RUN:-out/quickstart}
char_lm=$build/examples/apps/char_lm/char_lm

headline() {
  printf '\n== %s\n' "$*"
}

headline 'Building'
tests/packages.sh
[ -f "$build/build.ninja" ] ||
  meson setup "$build" --buildtype=release -Dtests=false -Ddefault_library=static -Dmpi=disabled
ninja -C "$build" examples/apps/char_lm/char_lm

headline 'Training'
overwrite=--overwrite
for flag; do case $flag in --resume | --overwrite) overwrite= ;; esac; done
if [ -e "$run/last.safetensors" ] && [ -n "$overwrite" ]; then
  echo "replacing the run in $run; --resume would continue it"
fi
"$char_lm" train --out_dir "$run" $overwrite "$@"

headline 'Score on the last tenth of the text, which the model was not trained on'
"$char_lm" eval "$run"

headline "A text that it generates (also in $run/sample.txt)"
"$char_lm" generate "$run" --length 600 | tee "$run/sample.txt"

headline 'A report for a browser'
"$char_lm" report "$run" --out "$run/report.html"
echo "Open it: file://$(realpath "$run/report.html")"
