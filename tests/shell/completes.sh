#!/bin/bash
# Checks the completion in the file $2 of char_lm, the program $1. There is no `set -eu`, since
# bash-completion itself does what that forbids.
program=$1
. /usr/share/bash-completion/bash_completion
. "$2"

# completes EXPECTED WORD...: the last of the words that were typed behind the program's name.
completes() {
  local expected=$1
  COMP_WORDS=("$program" "${@:2}") COMP_CWORD=$(($# - 1)) COMPREPLY=()
  COMP_LINE="${COMP_WORDS[*]}" COMP_POINT=${#COMP_LINE}
  _shiftgrad_program "$program"
  [ "${COMPREPLY[*]}" = "$expected" ] || { echo "$* is completed to '${COMPREPLY[*]}'"; exit 1; }
}

completes 'generate' ge
completes 'train eval generate compare inspect plot attention positions context convert report' ''
completes '--n_layer --n_head --n_embd' train --n_
completes '--mode --mem_len' eval --m
completes "$2" eval "${2%lm}"
completes 'transformer transformer_xl' train --model transf
completes 'float32 bfloat16' eval --precision ''
completes 'characters' train --vocab c
completes 'true false' train --norm_first ''
completes "$2" train --data "${2%lm}"
