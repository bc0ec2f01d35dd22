#!/usr/bin/env python3
"""Writes the reference of all public headers to build-book/reference, where the book's front page finds it, or to
FOLDER/reference: .doxygen/build.py [FOLDER]

A folder is a group with its headers in the order of the two evenings in README.md, the others behind them.
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def group(path):
    return re.sub(r'\W', '_', path.removesuffix('.h'))


def reading_order(headers):
    stops = re.findall(r'^\| `([^`]*)` \|', (ROOT / 'README.md').read_text(), re.M)
    places = [re.sub(r'composed_|\.\w+$', '', stop) + '.h' for stop in stops]
    return sorted(headers, key=lambda header: places.index(header) if header in places else len(places))


def folder_groups(folder, headers):
    page = ROOT / folder / 'README.md'
    title = page.read_text().split('\n', 1)[0].strip('# ') if page.exists() else folder
    about = (f'[This page](@ref md_{group(folder)}_README) says what is here, and how to read it.' if page.exists()
             else f'@ingroup {group(str(Path(folder).parent))}')
    yield f'@defgroup {group(folder)} {title}\n{about}'
    for header in headers:
        if str(Path(header).parent) == folder:
            yield f'@defgroup {group(header)} {header}\n@ingroup {group(folder)}'
    for below in sorted({str(Path(header).parent) for header in headers}):
        if str(Path(below).parent) == folder:
            yield from folder_groups(below, headers)


def main():
    folder = Path(sys.argv[1] if sys.argv[1:] else ROOT / 'build-book').resolve()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        headers = reading_order(subprocess.run(
            ['core/public_headers.sh', place], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split())
        groups = Path(place) / 'groups.dox'
        groups.write_text(''.join(f'/** {line}\n */\n' for top in ['core', 'ops', 'nn', 'optim']
                                  for line in folder_groups(top, headers)))
        settings = (ROOT / '.doxygen/Doxyfile').read_text()
        settings += f'OUTPUT_DIRECTORY = "{folder}"\nINPUT += {groups} {" ".join(headers)}\n'
        sys.exit(subprocess.run(['doxygen', '-'], cwd=ROOT, input=settings, text=True).returncode)


main()
