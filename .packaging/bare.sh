#!/bin/sh
# Runs README's two commands where nothing is installed, and prints a row of a table for each:
#
#     .packaging/bare.sh                                    # all below, in hours; as root
#     .packaging/bare.sh bookworm/user/archive
#
# A combination is a release of Debian, who runs the commands, and where the sources are from: an archive, which has no
# .git, or a clone. Each has a root of its own in build-bare, a copy of one that debootstrap made, from MIRROR if that is
# set. It has the essential packages alone, without compiler, Python and sudo; a clone comes with git. A user is told what
# root has to install, which root then does, as it was printed, and the user tries again. What is downloaded is what apt
# counts. The log of each command stays; what tests skipped comes after the table.
set -eu
cd "$(dirname "$0")/.."
. .packaging/roots.sh
place=$PWD/build-bare
[ "$#" -gt 0 ] || set -- bookworm/root/archive bookworm/user/clone trixie/root/clone trixie/user/archive
mkdir -p "$place/releases"
commands=$(sed -n 's/^    \([a-z]*\/[a-z]*\.sh\) .*/\1/p' README.md)

# within WHO COMMAND: runs it at the home of WHO in $root, which has a /proc of its own and this machine's /dev.
within() {
  unshare --mount --pid --fork --kill-child sh -c '
    mount -t proc proc "$1/proc"
    mount --rbind /dev "$1/dev"
    exec chroot "$1" su --login "$2" --shell /bin/bash --command "$3"' within "$root" "$@" < /dev/null
}

# try COMMAND: as $who, to its end; $log gets all that it prints.
try() {
  within "$who" "cd shiftgrad && TIMEFORMAT='took %R s, %U s of CPU' && time $1" >> "$log" 2>&1
}

# install_as_told: what the log tells a user to do as root.
install_as_told() {
  sed -n '/As root:$/,$s/^  //p' "$log" > "$root/install.sh"
  [ -s "$root/install.sh" ] && within root 'sh -e /install.sh' >> "$log" 2>&1
}

# sources_at FOLDER: what somebody has who downloaded the project.
sources_at() {
  if [ "$sources" = clone ]; then
    git clone --quiet --no-hardlinks . "$1"
    chroot "$root" apt-get install --no-install-recommends git > "$root.git.log" 2>&1
  else
    mkdir "$1"
    git archive HEAD | tar -x -C "$1"
  fi
}

# megabytes: how much $root holds.
megabytes() {
  du --summarize --block-size=1M "$root" | cut -f 1
}

echo '| Debian | who | sources | command | status | s | s of CPU | downloaded | MB on disk | last line |'
echo '|---|---|---|---|--:|--:|--:|---|--:|---|'
failed=0
for combination; do
  release=${combination%%/*} sources=${combination##*/}
  who=${combination#*/}
  who=${who%/*}
  base=$(root_in "$place/releases" "$release")
  root=$place/$release-$who-$sources
  rm -rf "$root"
  cp -a "$base" "$root"
  # Nobody is there to answer.
  echo 'APT::Get::Assume-Yes "true";' > "$root/etc/apt/apt.conf.d/yes"
  [ "$who" = root ] || chroot "$root" useradd --create-home "$who"
  home=$(chroot "$root" getent passwd "$who" | cut -d : -f 6)
  sources_at "$root$home/shiftgrad"
  chroot "$root" chown -R "$who:" "$home/shiftgrad"
  for command in $commands; do
    log=$root.$(basename "$command" .sh).log
    before=$(megabytes)
    : > "$log"
    status=0
    try "$command" || status=$?
    if [ "$status" != 0 ] && [ "$who" != root ] && install_as_told; then
      status=0
      try "$command" || status=$?
    fi
    [ "$status" = 0 ] || failed=1
    took=$(sed -n 's/^took \(.*\) s, \(.*\) s of CPU$/\1 | \2/p' "$log" | tail -n 1)
    downloaded=$(sed -n 's/^Need to get \([^/]* .B\).*/\1/p' "$log" | paste -s -d + | sed 's/+/ + /g')
    echo "| $(cat "$root/etc/debian_version") | $who | $sources | \`$command\` | $status | $took | ${downloaded:-0}" \
      "| $(($(megabytes) - before)) | $(grep -v '^took \|^$' "$log" | tail -n 1) |"
  done
  rm -rf "$root"
done
for log in "$place"/*.run.log; do
  sed -n "/^Skipped:/,/passed, /s,^,$(basename "$log" .run.log): ,p" "$log"
done
exit "$failed"
