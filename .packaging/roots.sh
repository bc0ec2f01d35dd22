# For scripts that try other releases of Debian, by `. .packaging/roots.sh`: roots that debootstrap makes, as root.

# root_in FOLDER RELEASE: prints where a root of that release lies, and fills it where it is empty, from MIRROR if that
# is set.
root_in() {
  [ -e "$1/$2/etc/os-release" ] || debootstrap --variant=minbase "$2" "$1/$2" ${MIRROR:+"$MIRROR"} >&2
  echo "$1/$2"
}
