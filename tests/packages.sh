#!/bin/sh
# Installs the Debian packages that the build needs, and those named as arguments, as far as this
# machine lacks them. NAME:ARCHITECTURE lies beside this machine's own package of that name. Where it may
# not install, it prints the commands that would, and stops with status 1.
# Elsewhere than on Debian it leaves that to meson, which names what it misses.
#
#     tests/packages.sh [PACKAGE]...
#     tests/packages.sh --missing [PACKAGE]...    # installs nothing, prints those that are missing
set -eu
only_print=
[ "${1-}" != --missing ] || { only_print=yes; shift; }

packages="g++ meson ninja-build pkg-config libopenblas-dev libtbb-dev libhwy-dev
  libcli11-dev nlohmann-json3-dev $*"

command -v dpkg-query > /dev/null || exit 0
missing=
for package in $packages; do
  case $package in
    *:*) architecture=${package#*:} ;;
    *) architecture=$(dpkg --print-architecture) ;;
  esac
  dpkg-query --show --showformat='${Architecture} ${db:Status-Status}\n' "$package" 2> /dev/null |
    grep -Eqx "($architecture|all) installed" || missing="$missing $package"
done
[ -n "$missing" ] || exit 0
[ -z "$only_print" ] || { echo "${missing# }"; exit 0; }
architectures=$(for package in $missing; do echo "$package"; done | sed -n 's/.*://p' | sort -u)

if [ "$(id -u)" = 0 ]; then
  as_root=
elif sudo -n true 2> /dev/null || { [ -t 0 ] && command -v sudo > /dev/null; }; then
  as_root=sudo
else
  echo 'Packages are missing. As root:' >&2
  for architecture in $architectures; do
    echo "  dpkg --add-architecture $architecture" >&2
  done
  echo '  apt-get update' >&2
  echo "  apt-get install --no-install-recommends$missing" >&2
  exit 1
fi
for architecture in $architectures; do
  $as_root dpkg --add-architecture "$architecture"
done
apt_get="$as_root env DEBIAN_FRONTEND=noninteractive apt-get --yes --no-install-recommends"
$apt_get install $missing || { $apt_get update && $apt_get install $missing; }
