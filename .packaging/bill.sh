#!/bin/sh
# Adds the bill of materials of all files in the folder $2, a release of the version $1: bill.sh VERSION FOLDER
set -eu
here=$(cd "$(dirname "$0")" && pwd)
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/tools"
"$place/tools/bin/pip" install --quiet --require-hashes --requirement "$here/requirements.txt"
"$place/tools/bin/python" "$here/bill.py" "$1" "$2" > "$place/bill.json"
mv "$place/bill.json" "$2/shiftgrad-$1.cdx.json"
