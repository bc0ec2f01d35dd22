#!/bin/sh
# Runs README's two commands where nothing is installed, from a downloaded archive, and prints a row of a table for each:
#
#     .packaging/bare.sh                      # bookworm and trixie, as root and as a user; as root
#     .packaging/bare.sh bookworm/root trixie/user
#
# Each row has a root of its own in build-bare, a copy of one that debootstrap made, from MIRROR if that is set. It has the
# essential packages alone: no git, no compiler, no Python, no sudo. A user first gets the commands that root has to run;
# they are run as they are printed, and the user begins again. What is downloaded is what apt asks to get. A full log is
# beside each root; what tests skipped comes after the table.
set -eu
cd "$(dirname "$0")/.."
. .packaging/roots.sh
place=$PWD/build-bare
[ "$#" -gt 0 ] || set -- bookworm/root bookworm/user trixie/root trixie/user
mkdir -p "$place/releases"
commands=$(sed -n 's/^    \([a-z]*\/[a-z]*\.sh\) .*/\1/p' README.md)

# within WHO COMMAND: runs it at the home of WHO in $root, which has its own /proc and our /dev.
within() {
  unshare --mount --pid --fork --kill-child sh -c '
    root=$1 who=$2
    shift 2
    mount -t proc proc "$root/proc"
    mount --rbind /dev "$root/dev"
    exec chroot "$root" su --login "$who" -s /bin/sh -c "$*"' within "$root" "$@"
}

# try COMMAND: as $who, to its end; $log gets all that it prints.
try() {
  within "$who" "cd shiftgrad && env LC_ALL=C.UTF-8 bash -c 'TIMEFORMAT=\"took %R s, %U s of CPU\"; time $1'" >> "$log" 2>&1 < /dev/null
}

# install_as_told: runs as root what the log tells a user to, and adds --yes.
install_as_told() {
  sed -n 's/^  \(apt-get install .*\)/apt-get update \&\& \1 --yes --no-install-recommends/p' "$log" | tail -n 1 > "$root/install.sh"
  [ -s "$root/install.sh" ] || return
  within root 'DEBIAN_FRONTEND=noninteractive sh /install.sh' >> "$log" 2>&1 < /dev/null
}

# downloads: what apt got, of all that the log has.
downloads() {
  sed -n 's/^Need to get \(.* .B\)\(\/.*\)\{0,1\} of archives.*/\1/p' "$log" | paste -s -d '+' | sed 's/+/ + /g'
}

echo '| Debian | who | command | status | s | s of CPU | downloaded | last line |'
echo '|---|---|---|--:|--:|--:|---|---|'
failed=0
for combination; do
  release=${combination%/*} who=${combination#*/}
  base=$(root_in "$place/releases" "$release")
  root=$place/$release-$who
  rm -rf "$root"
  cp -a "$base" "$root"
  [ "$who" = root ] || chroot "$root" useradd --create-home --shell /bin/sh "$who"
  home=$(chroot "$root" getent passwd "$who" | cut -d : -f 6)
  mkdir "$root$home/shiftgrad"
  git archive HEAD | tar -x -C "$root$home/shiftgrad"
  chroot "$root" chown -R "$who:" "$home/shiftgrad"
  for command in $commands; do
    log=$root.$(basename "$command" .sh).log
    : > "$log"
    status=0
    try "$command" || status=$?
    if [ "$status" != 0 ] && [ "$who" != root ] && install_as_told; then
      status=0
      try "$command" || status=$?
    fi
    [ "$status" = 0 ] || failed=1
    took=$(sed -n 's/^took \(.*\) s, \(.*\) s of CPU$/\1 | \2/p' "$log" | tail -n 1)
    echo "| $(cat "$root/etc/debian_version") | $who | \`$command\` | $status | $took | $(downloads)" \
      "| $(grep -v '^took \|^$' "$log" | tail -n 1) |"
  done
done
for log in "$place"/*.run.log; do
  [ ! -e "$log" ] || sed -n "/^Skipped:/,/passed, /s,^,$(basename "$log" .run.log): ,p" "$log"
done
exit "$failed"
