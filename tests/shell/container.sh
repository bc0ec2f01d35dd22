#!/bin/sh
# What char_lm and seq2seq, the programs $1 and $2, take of a machine whose cgroups limit them: as many threads as the
# quota has whole CPUs, and no training that does not fit into the memory. It needs cgroups that it may make.
char_lm=$(realpath "$1")
seq2seq=$(realpath "$2")
. "$(dirname "$0")/char_lm_checks.sh"

# A model without values touches no memory, unless malloc fills it.
unset MALLOC_PERTURB_

# --- Without a limit of this test's own: a model that no machine holds is refused before its folder is made.
awk 'BEGIN { for (n = 0; n < 2000; n++) print "line " n * n % 100 }' > text
vast='--n_layer 1000 --n_embd 8192'
# shellcheck disable=SC2086
refuses 'char_lm: the weights alone need more than ' \
  train --data text --out_dir vast $vast
[ ! -e vast ] || fail 'a training that cannot fit made its folder'
status=0
# shellcheck disable=SC2086
"$seq2seq" train --out_dir vast $vast > output 2> errors || status=$?
[ "$status" = 2 ] || fail "status $status of a vast seq2seq"
grep -q '^seq2seq: the weights alone need more than .* this process may have' errors || fail "seq2seq: $(cat errors)"
[ ! -e vast ] || fail 'a training that cannot fit made its folder'
runs --version
prints '^threads: [0-9]* by default \([0-9]* CPUs, .*\)$'
prints '^memory: [0-9.]* GB$'

# --- A cgroup with a quota, and one with a limit of memory, of either version.
group=shiftgrad_test_$$
if mkdir "/sys/fs/cgroup/cpu/$group" 2> /dev/null; then
  cpu=/sys/fs/cgroup/cpu/$group memory=/sys/fs/cgroup/memory/$group
  mkdir "$memory"
  quota() { echo "$1" > "$cpu/cpu.cfs_quota_us"; }
  echo 314572800 > "$memory/memory.limit_in_bytes"
elif [ -e /sys/fs/cgroup/cgroup.controllers ] && mkdir "/sys/fs/cgroup/$group" 2> /dev/null; then
  cpu=/sys/fs/cgroup/$group memory=/sys/fs/cgroup/$group
  quota() { echo "$1" 100000 > "$cpu/cpu.max"; }
  echo 314572800 > "$memory/memory.max" || { rmdir "$cpu"; exit 77; }
else
  echo 'no cgroups that this user may make'
  [ "$failures" = 0 ] || exit 1
  exit 77
fi
mkdir "$cpu/inner"
trap 'rmdir "$cpu/inner" "$cpu" 2> /dev/null; rmdir "$memory" 2> /dev/null; rm -rf "$place"' EXIT

# within GROUP COMMAND...: runs a command inside of a cgroup.
within() {
  sh -c 'echo $$ > "$0/cgroup.procs" && exec "$@"' "$@"
}
cpus=$(getconf _NPROCESSORS_ONLN)
# threads QUOTA: the default number of threads below a cgroup with this quota.
threads() {
  quota "$1"
  within "$cpu/inner" "$char_lm" --version | sed -n 's/^threads: \([0-9]*\) .*/\1/p'
}
[ "$(threads 100000)" = 1 ] || fail 'a quota of one CPU'
[ "$(threads 50000)" = 1 ] || fail 'a quota of half a CPU'
[ "$(threads 199000)" = 1 ] || fail 'a quota just below two CPUs'
[ "$(threads 100000000)" = "$cpus" ] || fail 'a quota beyond the CPUs'

tiny='--n_layer 1 --n_head 2 --n_embd 16 --batch_size 4 --block_size 8 --max_iters 1 --warmup_iters 1'
large='--n_layer 12 --n_head 8 --n_embd 512'
printf '#!/bin/sh\necho $$ > %s/cgroup.procs\nexec %s "$@"\n' "$memory" "$char_lm" > limited
chmod +x limited
char_lm=$PWD/limited
# shellcheck disable=SC2086
refuses 'and this process may have 0.315 GB (the machine' \
  train --data text --out_dir large $large
[ ! -e large ] || fail 'a training that cannot fit made its folder'
# shellcheck disable=SC2086
runs train --data text --out_dir small $tiny
runs --version
prints '^memory: 0.315 GB$'

[ "$failures" = 0 ]
