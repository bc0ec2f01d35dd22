#!/bin/sh
# Installs a manual page for each of the programs $2... and for each of their commands, made from what
# --help prints, in the folder $1, below the prefix or absolute. Without help2man it installs none. mandoc -T lint asks
# for lines of at most 80 bytes alone: a text is one line, since a part of it such as .safetensors would begin a request.
set -eu
command -v help2man > /dev/null || { echo 'No manual pages: help2man is not installed.'; exit 0; }
case $1 in
  /*) pages=${DESTDIR-}$1/man1 ;;
  *) pages=$MESON_INSTALL_DESTDIR_PREFIX/$1/man1 ;;
esac
shift
mkdir -p "$pages"

# page NAME HELP PROGRAM: what PROGRAM prints for the flags HELP. Its first line says what it does. help2man would
# give the pages of all commands the program's name, and all that --version says of this machine.
page() {
  purpose=$("$3" $2 | head -n 1)
  version=$("$3" --version | sed -n '1s/.* //p')
  help2man --no-info --help-option="$2" --name="$purpose" --version-string="$version" --output="$pages/$1.1" "$3"
  date=$(date -u ${SOURCE_DATE_EPOCH:+-d "@$SOURCE_DATE_EPOCH"} +%Y-%m-%d)
  title=$(echo "$1" | tr '[:lower:]' '[:upper:]')
  sed "s/^\.TH [^ ]* \([^ ]*\) \"[^\"]*\"/.TH $title \1 $date/; /^\.SH NAME/ { n; s/^[^ ]* /$1 /; }" "$pages/$1.1" > "$pages/titled"
  mv "$pages/titled" "$pages/$1.1"
}

for program in "$@"; do
  name=$(basename "$program")
  page "$name" --help "$program"
  for command in $("$program" --help | sed -n '/^Subcommands:/,/^$/s/^  \([a-z0-9_]*\) .*/\1/p'); do
    page "$name-$command" "$command --help" "$program"
  done
done
