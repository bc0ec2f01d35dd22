#!/bin/sh
# Installs the Debian packages that the build needs, and those named as arguments, as far as this
# machine lacks them. Where it may not, prints the line that would, and stops with status 1.
# Elsewhere than on Debian it leaves that to meson, which names what it misses.
set -eu

packages="g++ meson ninja-build pkg-config libopenblas-dev libtbb-dev libhwy-dev
  libcli11-dev nlohmann-json3-dev $*"

command -v dpkg-query > /dev/null || exit 0
missing=
for package in $packages; do
  status=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2> /dev/null) || true
  [ "$status" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" = 0 ]; then
  as_root=
elif sudo -n true 2> /dev/null || { [ -t 0 ] && command -v sudo > /dev/null; }; then
  as_root=sudo
else
  echo "Packages are missing. As root: apt-get install$missing" >&2
  exit 1
fi
apt_get="$as_root env DEBIAN_FRONTEND=noninteractive apt-get --yes --no-install-recommends"
$apt_get install $missing || { $apt_get update && $apt_get install $missing; }
