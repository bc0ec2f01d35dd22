# Completes the commands and flags that the program's own --help lists, the values that it lists for a flag, and
# names of files.
_shiftgrad_program() {
  local cur prev words cword
  _init_completion || return
  local command=
  [ "$cword" -gt 1 ] && command=${words[1]}
  # The choices of --NAME a|b|c=b; what stands behind = is the default.
  local choices=
  [[ $prev == --* ]] && choices=$("$1" $command --help |
    sed -n "s/^  $prev \[*\([A-Za-z0-9_|]*\).*/\1/p" | sed -n 's/^BOOL$/true false/p; /|/s/|/ /gp')
  if [ -n "$choices" ]; then
    COMPREPLY=($(compgen -W "$choices" -- "$cur"))
  elif [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$(_parse_help "$1" "$command --help")" -- "$cur"))
  elif [ "$cword" = 1 ]; then
    COMPREPLY=($(compgen -W "$("$1" --help | sed -n '/^Subcommands:/,/^$/s/^  \([a-z0-9_]*\) .*/\1/p')" -- "$cur"))
  else
    _filedir
  fi
} && complete -F _shiftgrad_program char_lm seq2seq
