#!/bin/sh
# Puts claims of the papers to the test with small models of characters: trains each with three seeds, scores
# them on the last tenth of the text, and prints tables in Markdown of bits per character.
#
#     examples/claims.sh TEXT [CLAIM…]
#
# TEXT is a file, such as tinyshakespeare. The claims are memory and equal_context, by default all. Runs stay
# in the folder claims; one that is there already is not trained again, so the script can be stopped at any
# time. A training takes one to two minutes on 2 cores. CHAR_LM names the program, and TRAINING has flags for
# all trainings, such as --max_iters 5000.
set -eu
char_lm=${CHAR_LM:-$(dirname "$0")/../build/examples/char_lm/char_lm}
place=claims
seeds='1 2 3'
claims='memory equal_context'

fail() {
  echo "claims.sh: $1" >&2
  exit 2
}
[ $# -ge 1 ] || fail 'no text, expected: claims.sh TEXT [CLAIM…]'
text=$1
shift
[ -r "$text" ] || fail "$text: cannot be read"
[ -x "$char_lm" ] || fail "$char_lm: no such program; build it, or name it in CHAR_LM"
for claim; do
  case " $claims " in *" $claim "*) ;; *) fail "$claim: no such claim, expected $claims" ;; esac
done

# trained NAME FLAG...: there is a run of this name for each seed. What was begun is begun anew.
trained() {
  name=$1
  shift
  for seed in $seeds; do
    run=$place/$name-$seed
    [ ! -e "$run.done" ] || continue
    echo "training $run: $*" >&2
    "$char_lm" train --data "$text" --seed "$seed" --out_dir "$run" --overwrite "$@" ${TRAINING:-} >&2
    touch "$run.done"
  done
}

# scored WHAT NAME FLAG...: a row of a table, the mean over the seeds and its deviation.
scored() {
  what=$1
  name=$2
  shift 2
  for seed in $seeds; do
    "$char_lm" eval "$place/$name-$seed" "$@" | sed -n 's/^\([0-9.]*\) bits per character$/\1/p'
  done | awk -v what="$what" '
    { sum += $1; squares += $1 * $1 }
    END {
      mean = sum / NR
      printf "| %s | %.3f | %.3f |\n", what, mean, sqrt((squares - NR * mean * mean) / (NR - 1))
    }'
}

table() {
  printf '\n%s\n\n| | bits | deviation |\n|---|---:|---:|\n' "$1"
}

# Dai et al. 2019, section 3.2: a memory helps, and it may be longer at evaluation than in training.
memory() {
  trained xl_blocks --model transformer_xl --mem_len 0
  trained xl --model transformer_xl
  table 'Transformer-XL, blocks of 64 tokens, with and without a memory:'
  for length in 0 64 128 256; do
    scored "trained with 64 tokens of memory, scored with $length" xl --mem_len $length
  done
  scored 'trained and scored without' xl_blocks
  scored 'trained without, scored with 64' xl_blocks --mem_len 64
}

# Relative positions against absolute ones, where no model sees more than the others: each token from exactly
# the 64 before it, on the last hundredth of the text.
equal_context() {
  trained transformer --model transformer
  trained sinusoid --model transformer --position sinusoid
  trained rope --model transformer --position rope
  trained xl_blocks --model transformer_xl --mem_len 0
  table 'Each token from the 64 before it, all trained on blocks of 64 without a memory:'
  for name in xl_blocks rope transformer sinusoid; do
    case $name in
      xl_blocks) what="Transformer-XL's relative sinusoids" ;;
      rope) what='rotary positions' ;;
      transformer) what='learned absolute positions' ;;
      sinusoid) what='absolute sinusoids' ;;
    esac
    scored "$what" $name --mode sliding --tgt_len 64 --eval_split 0.01
  done
}

mkdir -p "$place"
for claim in ${*:-$claims}; do $claim; done
