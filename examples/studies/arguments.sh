# Checks of a script's arguments, for the scripts that source this file. What is wrong becomes one line.

fail() {
  echo "$(basename "$0"): $1" >&2
  exit 2
}

# readable FILE [HINT]
readable() {
  [ -r "$1" ] || fail "$1: cannot be read${2:+; $2}"
}

# runnable VARIABLE PROGRAM: the program that the variable may name is there.
runnable() {
  [ -x "$2" ] || fail "$2: no such program; build it, or name it in $1"
}

# known KIND NAME NAMES: the name is one of these.
known() {
  case " $(echo $3) " in
    *" $2 "*) ;;
    *) fail "$2: no such $1, expected one of: $(echo $3)" ;;
  esac
}
