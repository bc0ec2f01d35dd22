#!/bin/sh
# Builds the library and its tests, and runs them:
#
#     tests/run.sh          # the quick ring: doctest suites of core, ops, nn, optim and the laws in float and
#                           # in double, and each program once; 4 minutes on 2 cores, 1 where all is built
#     tests/run.sh --all    # everything: programs, installation, book, browser, the bridge to PyTorch, fuzzing
#
# With --no-python, --all leaves out the tests of the bridge instead of installing PyTorch for them into a
# virtual environment of its own. Other arguments go to the configuration, such as -Dsanitizers=address or
# -Dwerror=true. The build stays in build-tests, and what is there is not built again. The last line counts
# test cases:
#     N passed, N failed, N skipped
set -eu
cd "$(dirname "$0")/.."
build=$PWD/build-tests
rings=quick
with_python=yes
options=
for argument; do
  shift
  case $argument in
    --all) rings='quick rest' ;;
    --no-python) with_python=no ;;
    --help | -h) sed -n '2,/^set/s/^# \{0,1\}//p' "$0"; exit ;;
    *) set -- "$@" "$argument"; options="$options $argument" ;;
  esac
done

passed=0 failed=0 skipped=0 notes=

# finish: the last lines; green means that something passed, and nothing failed.
finish() {
  [ "$skipped" = 0 ] || {
    printf '\nSkipped:\n'
    for ring in $rings; do
      [ ! -e "$build/meson-logs/$ring.json" ] || awk -v list=1 -f tests/count.awk "$build/meson-logs/$ring.json"
    done
    # shellcheck disable=SC2046
    lacking=$(tests/packages.sh --missing $(cat tests/packages.txt))
    [ -z "$lacking" ] || echo "To install what is missing: apt-get install --no-install-recommends $lacking"
  }
  [ -z "$notes" ] || echo "$notes"
  echo "$passed passed, $failed failed, $skipped skipped"
  [ "$passed" -gt 0 ] && [ "$failed" = 0 ] && exit 0
  exit 1
}

# fails WHAT: counts as one failure, and ends.
fails() {
  echo "FAILED: $1"
  failed=$((failed + 1))
  finish
}

tests/packages.sh doctest-dev

if [ "$rings" != quick ]; then
  echo 'All tests take some 20 to 30 minutes on 2 idle cores, 3 GB of disk and 4 GB of memory.'
  echo 'Those of programs that are not installed are skipped; .ci/run installs these. From networks come only,'
  echo "once, PyTorch and other packages of Python (pip, into build-tests/python; --no-python does without), and"
  echo "pyright and the browser's driver (npm)."
fi

# Another configuration or compiler begins anew, but for the packages of Python.
asked="${CXX-} ${CXXFLAGS-} ${LDFLAGS-}$options"
if [ ! -e "$build/build.ninja" ] || [ "$(cat "$build/asked" 2> /dev/null)" != "$asked" ]; then
  mkdir -p "$build"
  find "$build" -mindepth 1 -maxdepth 1 ! -name python -exec rm -rf {} +
fi

# The tests of the bridge and of a release have an environment of their own. `complete` says that PyTorch was installed as
# a whole. The tools of a release come while the library is built.
pip=$build/python/bin/pip
install="$pip install --quiet --disable-pip-version-check"
tools=
if [ "$rings" != quick ] && [ "$with_python" = yes ]; then
  if ! cmp -s tests/pytorch/requirements.txt "$build/python/complete"; then
    echo "Installing PyTorch into $build/python"
    if { [ -x "$pip" ] || python3 -m venv "$build/python"; } > "$build/python.log" 2>&1 &&
      $install -r tests/pytorch/requirements.txt >> "$build/python.log" 2>&1; then
      cp tests/pytorch/requirements.txt "$build/python/complete"
    else
      tail -n 3 "$build/python.log"
      notes="PyTorch could not be installed, so tests of the bridge are skipped. To try by hand:
  python3 -m venv $build/python && $pip install -r tests/pytorch/requirements.txt"
      rm -rf "$build/python"
    fi
  fi
  if [ -x "$pip" ]; then
    $install --require-hashes -r .packaging/requirements.txt > "$build/tools.log" 2>&1 &
    tools=$!
  fi
fi
if [ "$with_python" = no ]; then
  notes='PyTorch was not installed (--no-python). Where Python has none, tests of the bridge are skipped.'
elif [ -e "$build/python/complete" ]; then
  PATH=$build/python/bin:$PATH
fi
python=$(command -v python3)

if [ ! -e "$build/build.ninja" ]; then
  meson setup "$build" --buildtype=release "$@" || fails configuration
elif [ "$(cat "$build/with_python" 2> /dev/null)" != "$python" ]; then
  meson setup --reconfigure "$build" || fails configuration
fi
echo "$asked" > "$build/asked"
echo "$python" > "$build/with_python"

# A test that hangs is ended: one process by the CPU time that it takes, others when nothing of a test has
# taken any for ten minutes. No limit is of wall time, since a machine may be slow.
ulimit -t 3600

# run_ring NAME SUITES: the tests of one ring, added to the counts. It builds first what they need.
run_ring() {
  ring=$1
  shift
  echo "== Building and testing: $ring"
  log=$build/meson-logs/$ring.json
  rm -f "$log"
  tests/watch.py $$ &
  watch=$!
  # One more test than cores: some wait for others, or for one process of several.
  status=0
  cores=$(nproc 2> /dev/null || getconf _NPROCESSORS_ONLN)
  meson test -C "$build" "$@" --logbase "$ring" --print-errorlogs --num-processes $((cores + 1)) \
    < /dev/null || status=$?
  kill "$watch" 2> /dev/null || true
  wait "$watch" 2> /dev/null || true
  [ -e "$log" ] || fails 'building the tests'
  counts=$(awk -v status="$status" -f tests/count.awk "$log") || fails 'counting the tests'
  # shellcheck disable=SC2086
  set -- $counts
  passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3))
}
run_ring quick --suite quick
if [ "$rings" != quick ]; then
  echo '== Building the rest'
  ninja -C "$build" all meson-test-prereq || fails 'building the rest'
  [ -z "$tools" ] || wait "$tools" || { tail -n 3 "$build/tools.log"; echo 'Tests of a release are skipped.'; }
  run_ring rest --no-suite quick
fi
finish
