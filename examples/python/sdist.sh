#!/bin/sh
# Writes a source distribution of the package: sdist.sh [FOLDER]
#
# It has the library's sources in it, as the last commit has them, so that `pip install FOLDER/shiftgrad-*.tar.gz`
# builds the package on a machine without this repository. FOLDER is dist unless given.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
folder=${1:-dist}
version=$(sed -n "s/^  version: '\(.*\)',/\1/p" "$root/meson.build" | head -1)
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
name=shiftgrad-$version
mkdir -p "$folder" "$place/$name"

# What the wheel's build reads, and the licence. The package's folder has a link to this root, its subproject.
git -C "$root" archive HEAD LICENSE meson.build meson_options.txt .packaging/shiftgradConfig.cmake.in \
  core ops nn optim examples | tar -x -C "$place/$name"

# pip builds from the root of the tarball, and meson from the package's folder.
cat > "$place/$name/pyproject.toml" << 'END'
[build-system]
requires = ["meson-python", "nanobind >= 2.4"]
build-backend = "in_its_folder"
backend-path = ["."]
END
cat > "$place/$name/in_its_folder.py" << 'END'
"""meson-python's hooks, run in the package's folder."""

import functools
import os

import mesonpy


def _there(hook):
    @functools.wraps(hook)
    def run(*arguments, **named):
        arguments = [os.path.abspath(each) if isinstance(each, str) else each for each in arguments]
        os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "examples/python"))
        return hook(*arguments, **named)
    return run


for _hook in ("get_requires_for_build_wheel", "build_wheel", "get_requires_for_build_editable", "build_editable"):
    globals()[_hook] = _there(getattr(mesonpy, _hook))
END
{
  printf 'Metadata-Version: 2.1\nName: shiftgrad\nVersion: %s\n' "$version"
  sed -n 's/^description = "\(.*\)"/Summary: \1/p; s/^requires-python = "\(.*\)"/Requires-Python: \1/p' \
    "$here/pyproject.toml"
  printf 'License: MIT\nRequires-Dist: torch>=2.6\nDescription-Content-Type: text/markdown\n\n'
  cat "$here/README.md"
} > "$place/$name/PKG-INFO"
tar -czf "$folder/$name.tar.gz" --owner=0 --group=0 --numeric-owner -C "$place" "$name"
echo "$folder/$name.tar.gz"
