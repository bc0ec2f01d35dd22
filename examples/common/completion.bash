# Completes the commands and flags that the program's own --help lists, and names of files.
_shiftgrad_program() {
  local cur prev words cword
  _init_completion || return
  local command=
  [ "$cword" -gt 1 ] && command=${words[1]}
  if [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$(_parse_help "$1" "$command --help")" -- "$cur"))
  elif [ "$cword" = 1 ]; then
    COMPREPLY=($(compgen -W "$("$1" --help | sed -n '/^Subcommands:/,/^$/s/^  \([a-z0-9_]*\) .*/\1/p')" -- "$cur"))
  else
    _filedir
  fi
} && complete -F _shiftgrad_program char_lm seq2seq
