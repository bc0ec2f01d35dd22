#!/bin/sh
# Puts claims of the papers, and some of our own, to the test: trains small models with several seeds each,
# scores them, and prints a report in Markdown with a verdict on each claim.
#
#     examples/studies/claims.sh TEXT [CLAIM…] > report.md
#     examples/studies/claims.sh --list
#
# --list names each claim, the comparison that decides it, the time of its trainings and scores, and their commands.
# TEXT is a file, such as tinyshakespeare. Each CLAIM is a file in the folder claims beside this script, without
# its .sh; by default all are tested. A training takes one thread and a minute or less; as many run side by
# side as there are processors. Runs stay in a folder claims where the script is called. What is there already is
# not made again, so the script can be stopped at any time. Besides the report it writes claims/results.json, from which
# tables.py makes the page of the claims. It takes Python with SciPy.
#
# Variables: SEEDS is the number of seeds of what decides a claim, 10 by default, OTHER_SEEDS that of all else, 3 by
# default. FIRST_SEED is the first of them, 1 by default, and 1001 for a new decision: name it in a commit before it
# runs, run it once, and print whatever it says; claims/decisions.py counts it with all that came before. CHAR_LM,
# SEQ2SEQ, CONVOLUTION and RESTARTED name the programs, of which a build makes the last two when asked:
# meson compile -C build convolution restarted_positions. JOBS is the number of trainings at a time. TRAINING has more
# flags for the trainings of char_lm, such as --max_iters 5000; TRANSLATING, CONVOLVING and RESTARTING have them for
# those of the other three.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
programs=$here/../../build/examples
export CHAR_LM="${CHAR_LM:-$programs/apps/char_lm/char_lm}"
export SEQ2SEQ="${SEQ2SEQ:-$programs/apps/seq2seq/seq2seq}"
export CONVOLUTION="${CONVOLUTION:-$programs/studies/convolution}"
export RESTARTED="${RESTARTED:-$programs/studies/restarted_positions}"
export PLACE=claims FIRST_SEED="${FIRST_SEED:-1}"
export recipe="--n_embd 64 --max_iters 600 --learning_rate 4e-3 --eval_interval 600 --eval_iters 100"
export context_flags='--tokens 20000 --lengths 16,32,48,64,80,96,112,128'
short='--block_size 16 --batch_size 48'  # segments that leave much to read before them, as many tokens as the recipe's
claims='equal_context memory fragmentation restarted_positions terms reach effective_context extrapolation shaw
  music_transformer rotary both_directions aft local_rnn r_transformer auxiliary_losses'

. "$here/arguments.sh"
. "$here/claims/words.sh"
. "$here/claims/made_texts.sh"
# study list|run CLAIM…: what the claims say becomes a list, or trainings and their report.
study() {
  python3 -c 'import numpy, scipy' 2> /dev/null || fail 'python3 has no numpy or scipy (Debian: python3-scipy)'
  task=$1
  shift
  : > "$PLACE/words"
  for claim; do . "$here/claims/$claim.sh"; done
  PYTHONDONTWRITEBYTECODE=1 python3 "$here/claims/main.py" "$task" "$@"
}

[ $# -ge 1 ] || fail 'no text, expected: claims.sh TEXT [CLAIM…]'
if [ "$1" = --list ]; then
  PLACE=$(mktemp -d) text=TEXT
  export text
  trap 'rm -rf "$PLACE"' EXIT
  study list $claims
  exit
fi
text=$1
shift
readable "$text"
runnable CHAR_LM "$CHAR_LM"
runnable SEQ2SEQ "$SEQ2SEQ"
runnable CONVOLUTION "$CONVOLUTION"
runnable RESTARTED "$RESTARTED"
for claim; do known claim "$claim" "$claims"; done
mkdir -p "$PLACE/scores"
copy=$PLACE/text-$(cksum < "$text" | tr ' ' -)
[ -e "$copy" ] || cp "$text" "$copy"
export text="$copy"
study run ${*:-$claims}
