#!/bin/sh
# Builds Debian packages of the last commit in the folder $1, or in build-packages: libshiftgrad-dev,
# shiftgrad-tools and python3-shiftgrad, for the Debian that this runs on. It installs what the build needs,
# fetches nanobind's source, which Debian 12 does not have, by pip, and has lintian read the result. REPOSITORY_URL,
# where it is set, becomes the packages' Homepage.
set -eu
cd "$(dirname "$0")/.."
. .packaging/same_bits.sh
mkdir -p "${1:-build-packages}"
folder=$(realpath "${1:-build-packages}")
nanobind=3.1.0
tests/packages.sh build-essential chrpath debhelper dh-python doctest-dev help2man lintian python3-dev \
  python3-pip

version=$(sed -n "s/^  version: '\(.*\)',/\1/p" meson.build | head -1)
grep -q "^shiftgrad ($version-" .packaging/debian/changelog ||
  { echo "build.sh: .packaging/debian/changelog lacks version $version" >&2; exit 1; }
tree=$folder/shiftgrad-$version
rm -rf "$tree" "$folder/nanobind"
git -c tar.umask=022 archive --prefix="shiftgrad-$version/" HEAD | gzip -n > "$folder/shiftgrad_$version.orig.tar.gz"
python3 -m pip download --quiet --no-deps --dest "$folder" "nanobind==$nanobind"
python3 -m zipfile -e "$folder/nanobind-$nanobind-py3-none-any.whl" "$folder/nanobind"
.packaging/pack.py "$folder/shiftgrad_$version.orig-nanobind.tar.gz" "$folder/nanobind"

tar -xzf "$folder/shiftgrad_$version.orig.tar.gz" -C "$folder"
mv "$folder/nanobind" "$tree"
cp -r .packaging/debian "$tree"
[ -z "${REPOSITORY_URL-}" ] || sed -i "s,^Standards-Version:,Homepage: $REPOSITORY_URL\n&," "$tree/debian/control"
(cd "$tree" && dpkg-buildpackage -us -uc)
lintian --fail-on error "$folder"/shiftgrad_*.changes
