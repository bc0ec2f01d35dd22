# What the tests of char_lm and seq2seq share. Read by a test whose $1 is the program, it goes to an
# empty folder of its own that disappears at the end.
set -u
# The programs say so if it keeps OpenBLAS from the CPU's best kernels.
unset OPENBLAS_CORETYPE
char_lm=$(realpath "$1")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place" || exit 1
failures=0

fail() {
  echo "FAILED: $*"
  failures=$((failures + 1))
}

# without NAMES WORD...: the words, but for the flags of these names and their values, so that others can be given.
without() {
  names=$1 kept=1
  shift
  for word; do
    case $word in
      --*) case " $names " in *" ${word#--} "*) kept= ;; *) kept=1 ;; esac ;;
    esac
    [ -z "$kept" ] || echo "$word"
  done
}

# runs ARGUMENT...: char_lm does it and says nothing on standard error.
runs() {
  "$char_lm" "$@" > output 2> errors || fail "status $? of: $*: $(cat errors)"
  [ ! -s errors ] || fail "errors of: $*: $(cat errors)"
}

# prints REGULAR_EXPRESSION: some line of the last output matches.
prints() {
  grep -Eq -- "$1" output || fail "no line '$1' in: $(cat output)"
}

# is_refused TEXT ARGUMENT...: status 2, and one line on standard error that contains the text.
is_refused() {
  expected=$1
  shift
  status=0
  "$char_lm" "$@" > output 2> errors || status=$?
  [ "$status" = 2 ] || fail "status $status of: $*"
  [ "$(wc -l < errors)" = 1 ] || fail "not one line for: $*: $(cat errors)"
  grep -qF -- "$expected" errors || fail "no '$expected' in: $(cat errors)"
}

# all_files: each with its checksum, but for what the last command wrote.
all_files() { find . -type f ! -name output ! -name errors -exec cksum {} + | sort; }

# refuses TEXT ARGUMENT...: is_refused, with nothing on standard output and all files as they were.
refuses() {
  before=$(all_files)
  is_refused "$@"
  [ ! -s output ] || fail "output of: $*: $(cat output)"
  [ "$(all_files)" = "$before" ] || fail "a file changed by: $*"
}
