#!/bin/sh
# From nothing to a text: installs what the build needs, builds, trains a Transformer-XL on this
# project's own source for about two minutes, shows its loss curve, scores it, and generates text.
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

# curve KEY: the lines "step loss" of the run's metrics.
curve() {
  sed -n 's/.*"step":\([0-9]*\).*"'"$1"'":\([^,}]*\).*/\1 \2/p' "$run/metrics.jsonl"
}

plot_losses() {
  curve loss > "$run/training.txt"
  curve validation_loss > "$run/validation.txt"
  gnuplot -e "
    set terminal dumb 79 24; set xlabel 'step'; set ylabel 'nats'; set key top right;
    plot '$run/training.txt' with lines title 'training loss of a batch',
         '$run/validation.txt' with points pointtype 'o' title 'validation loss'" | tr -d '\f'
}

headline 'Building'
tests/packages.sh gnuplot-nox
[ -f "$build/build.ninja" ] || meson setup "$build" --buildtype=release
ninja -C "$build" examples/char_lm/char_lm

headline 'Training'
overwrite=--overwrite
for flag; do case $flag in --resume | --overwrite) overwrite= ;; esac; done
if [ -e "$run/last.safetensors" ] && [ -n "$overwrite" ]; then
  echo "replacing the run in $run; --resume would continue it"
fi
"$char_lm" train --model transformer_xl --out_dir "$run" $overwrite "$@"

if command -v gnuplot > /dev/null; then
  headline 'The loss, step by step'
  plot_losses
fi

headline 'Score on the last tenth of the text, which the model was not trained on'
"$char_lm" eval "$run"

headline "A text that it generates (also in $run/sample.txt)"
"$char_lm" generate "$run" --prompt 'Tensor ' --length 600 | tee "$run/sample.txt"
