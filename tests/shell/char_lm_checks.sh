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

# bounded COMMAND...: does it, and ends it when it takes more than two minutes of CPU time.
bounded() {
  (ulimit -t 120 && exec "$@")
}

# ticks PROCESS: hundredths of a second of CPU time that it took, 0 where it has ended.
ticks() {
  awk '{ taken = $14 + $15 } END { print taken + 0 }' "/proc/$1/stat" 2> /dev/null || echo 0
}

# awaits PROCESS COMMAND...: waits until the command succeeds. Fails where the process has ended before, or
# does nothing for ten minutes.
awaits() {
  awaited=$1 idle=0 taken=
  shift
  until "$@" 2> /dev/null; do
    now=$(awk '$3 == "Z" { exit 1 } { print $14, $15, $16, $17 }' "/proc/$awaited/stat" 2> /dev/null) ||
      { "$@" 2> /dev/null; return; }
    if [ "$now" = "$taken" ]; then idle=$((idle + 1)); else idle=0 taken=$now; fi
    [ $idle -lt 30000 ] || return 1
    sleep 0.02
  done
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
