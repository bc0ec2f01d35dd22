# For scripts that try other releases of Debian, by `. .packaging/roots.sh`: roots that debootstrap makes, as root.

# root_in FOLDER RELEASE: prints where a root of that release lies, and makes it where it is not, from MIRROR if that is
# set.
root_in() {
  if [ ! -e "$1/$2" ]; then
    rm -rf "$1/$2.unfinished"
    debootstrap --variant=minbase "$2" "$1/$2.unfinished" ${MIRROR:+"$MIRROR"} >&2
    mv "$1/$2.unfinished" "$1/$2"
  fi
  echo "$1/$2"
}
