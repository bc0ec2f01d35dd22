#!/bin/sh
# Packs the same files twice, and makes two source distributions, in other folders, at other times, with another umask,
# language and zone: the archives have the same bits. Each is unpacked as it was.
set -eu
root=$(realpath "$(dirname "$0")/../..")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

fail() {
  echo "FAILED: $1"
  exit 1
}

# --- Archives, in which names, times, modes and owners are as they should be.
export SOURCE_DATE_EPOCH=1700000000
for round in 022 077; do
  mkdir -p "$place/$round/things/inner"
  (
    umask $round
    cd "$place/$round"
    export LC_ALL=C TZ=Pacific/Kiritimati
    names='b a inner/c'
    [ $round = 022 ] || names='inner/c a b'
    for name in $names; do echo "$name" > "things/$name"; done
    chmod u+x things/a
    ln -s inner things/link
    "$root/.packaging/pack.py" things.tar.gz things
    rm things/link
    "$root/.packaging/pack.py" things.zip things
  )
done
for archive in things.tar.gz things.zip; do
  cmp "$place/022/$archive" "$place/077/$archive" || fail "two archives of the same files differ"
done
TZ=UTC tar -tvzf "$place/022/things.tar.gz" | sed 's/  */ /g' > "$place/listed"
[ "$(cat "$place/listed")" = 'drwxr-xr-x 0/0 0 2023-11-14 22:13 things/
-rwxr-xr-x 0/0 2 2023-11-14 22:13 things/a
-rw-r--r-- 0/0 2 2023-11-14 22:13 things/b
drwxr-xr-x 0/0 0 2023-11-14 22:13 things/inner/
-rw-r--r-- 0/0 8 2023-11-14 22:13 things/inner/c
lrwxrwxrwx 0/0 0 2023-11-14 22:13 things/link -> inner' ] || fail "the archive has $(cat "$place/listed")"
(cd "$place" && python3 -m zipfile -e 022/things.zip unpacked)
diff -r "$place/022/things" "$place/unpacked/things" || fail 'what was unpacked differs'
unset SOURCE_DATE_EPOCH

# --- Source distributions, which are of the last commit.
{ git -C "$root" rev-parse HEAD && python3 -c 'import pyproject_metadata, tomllib'; } > /dev/null 2>&1 ||
  { echo 'Without git or pyproject-metadata, no source distribution is made.'; exit 0; }
for round in 022 077; do
  (
    umask $round
    [ $round = 022 ] || export LC_ALL=C LANGUAGE=tr TZ=Pacific/Kiritimati
    "$root/examples/python/sdist.sh" "$place/$round" > /dev/null
  )
done
cmp "$place"/022/shiftgrad-*.tar.gz "$place"/077/shiftgrad-*.tar.gz || fail 'two source distributions differ'
