#!/bin/sh
# Writes a source distribution of the package: sdist.sh [FOLDER]
#
# It has the library's sources in it, as the last commit has them, so that `pip install FOLDER/shiftgrad-*.tar.gz`
# builds the package on a machine without this repository. FOLDER is dist unless given. The Python on the PATH has to
# have pyproject-metadata. REPOSITORY_URL=ADDRESS, on GitHub, adds where the project lies to what PyPI shows.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
mkdir -p "${1:-dist}"
folder=$(cd "${1:-dist}" && pwd)
cd "$root"
. .packaging/same_bits.sh
version=$(sed -n "s/^  version: '\(.*\)',/\1/p" "$root/meson.build" | head -1)
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
name=shiftgrad-$version
mkdir "$place/$name"

# What the wheel's build reads, and the licence. The package's folder has a link to this root, its subproject.
git -C "$root" archive HEAD LICENSE meson.build meson_options.txt .packaging/shiftgradConfig*.cmake.in \
  core ops nn optim examples | tar -x -C "$place/$name"

# On PyPI, the README's links have to be whole addresses.
python=$place/$name/examples/python
if [ -n "${REPOSITORY_URL-}" ]; then
  at=$REPOSITORY_URL/blob/v$version
  printf '\n[project.urls]\nSource = "%s"\nIssues = "%s"\nChangelog = "%s"\n' \
    "$REPOSITORY_URL" "$REPOSITORY_URL/issues" "$at/.github/CHANGELOG.md" >> "$python/pyproject.toml"
  sed -i -E -e "s,\]\(#,](README.md#,g; s,\]\((\.\./\.\./),]($at/,g; s,\]\(\.\./,]($at/examples/,g" \
    -e "s,\]\(([^:)#]+[)#]),]($at/examples/python/\1,g" "$python/README.md"
fi

# pip builds from the root of the tarball, and meson from the package's folder.
{
  echo '[build-system]'
  grep '^requires = ' "$python/pyproject.toml"
  cat << 'END'
build-backend = "in_its_folder"
backend-path = ["."]
END
} > "$place/$name/pyproject.toml"
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
python3 - "$python" > "$place/$name/PKG-INFO" << 'END'
import pathlib
import sys
import tomllib

from pyproject_metadata import StandardMetadata

folder = pathlib.Path(sys.argv[1])
print(StandardMetadata.from_pyproject(tomllib.loads((folder / "pyproject.toml").read_text()), folder).as_rfc822())
END
.packaging/pack.py "$folder/$name.tar.gz" "$place/$name"
echo "$folder/$name.tar.gz"
