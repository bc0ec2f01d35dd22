#!/usr/bin/env python3
"""Writes whose software is in what we ship, under which licence, with the texts of the licences.

    .packaging/notices.py build BUILD TARGET...    # programs and libraries: the headers that ninja saw their sources read
    .packaging/notices.py book FOLDER BUILD        # a book's folder, with the library as it was built for browsers
    .packaging/notices.py wheel FOLDER BUILD TARGET...    # an unpacked wheel, with the libraries that auditwheel put in
    .packaging/notices.py --check FILE build|book|wheel ...    # fails where FILE lacks one of these

What is there decides, not a list: each file of others belongs to a package of Debian or of PyPI, and that has the
licence. KNOWN has what we read in these; a package that is not in it is refused, until somebody has read its licence.
"""

import fnmatch
import importlib.metadata
import json
import pathlib
import re
import subprocess
import sys
from typing import NamedTuple

SOURCE = pathlib.Path(__file__).resolve().parent.parent

# A package's name, without its version where it is a library's: who it is, and its licences by their SPDX names.
KNOWN = {
    "emscripten": ("Emscripten, with musl, libc++ and dlmalloc",
                   "(MIT OR NCSA) AND MIT AND Apache-2.0 WITH LLVM-exception AND CC0-1.0"),
    "fonts-katex": ("KaTeX's typefaces", "OFL-1.1"),
    "fonts-paratype": ("ParaType's typefaces, cut and renamed", "LicenseRef-ParaType-Free-Font-License"),
    "libcli11-dev": ("CLI11", "BSD-3-Clause"),
    "libgfortran": ("GNU Fortran's runtime", "GPL-3.0-or-later WITH GCC-exception-3.1"),
    "libhwloc": ("hwloc", "BSD-3-Clause"),
    "libhwy": ("Highway", "Apache-2.0"),
    "libhwy-dev": ("Highway", "Apache-2.0"),
    "libjs-katex": ("KaTeX", "MIT"),
    "libopenblas-pthread": ("OpenBLAS", "BSD-3-Clause"),
    "libopenblas-pthread-dev": ("OpenBLAS", "BSD-3-Clause"),
    "libquadmath": ("GCC's libquadmath", "LGPL-2.1-or-later"),
    "libtbb": ("oneTBB", "Apache-2.0"),
    "libtbb-dev": ("oneTBB", "Apache-2.0"),
    "nanobind": ("nanobind", "BSD-3-Clause"),
    "nlohmann-json3-dev": ("JSON for Modern C++", "MIT"),
    "robin-map": ("robin_map", "MIT"),
}

# What needs no notice: the interfaces of the C library, of the kernel, of MPI and of Python, whose code stays where it
# is, and what compilers come with, which their licences let be in any program.
NO_NOTICE = re.compile(
    r"/usr/lib/gcc/|/usr/include/(.*/)?c\+\+/|/usr/lib/llvm-[0-9]+/lib/clang/|/include/(.*/)?python3\.[0-9]+/|"
    r"/usr/lib/.*/(openmpi|mpich)/include/|<built-in>"
)
NO_NOTICE_PACKAGES = {"libc6-dev", "linux-libc-dev", "libc6-dev-cross"}

# What a reader of the book downloads. Ours are made from files of this tree; study has the library, with what that reads.
BOOK_OF_OURS = ["*.html", "book.css", "components.js", "looks.js", "weights.js", "study.js", "study_wasm.js",
                "study.wasm", "card.png", "notices.txt"]
BOOK_OF_OTHERS = {
    "katex.css": "libjs-katex", "copy-tex.js": "libjs-katex", "fonts/KaTeX_*.woff2": "fonts-katex",
    **{f"fonts/{name}*.woff2": "fonts-paratype" for name in ("serif", "sans", "mono")},
}


class Component(NamedTuple):
    address: str  # as a package URL
    text: str  # its licences


def fail(line):
    print(f"notices: {line}", file=sys.stderr)
    sys.exit(1)


def known(package):
    """Who a package is, and its licences: libtbb12 is libtbb, libopenblas0-pthread is libopenblas-pthread."""
    name = package if package in KNOWN else re.sub(r"[0-9][0-9.-]*(?=-|$)", "", package)
    if name not in KNOWN:
        fail(f"{package} is shipped and has no line in .packaging/notices.py, expected one with its licence")
    return KNOWN[name]


def of_debian(package):
    """A package's copyright file without what is of its tests and tools."""
    version = output("dpkg-query", "--show", "--showformat=${Version}", package)
    text = pathlib.Path(f"/usr/share/doc/{package}/copyright").read_text(encoding="utf-8")
    paragraphs = [each.strip("\n") for each in re.split(r"\n\s*\n", text)]
    paragraphs = [each for each in paragraphs if not of_no_concern(each)]
    named = {name for each in paragraphs if each.startswith("Files:") for name in license_names(each)}
    kept = [each for each in paragraphs if not each.startswith("License:") or license_names(each) & named]
    return Component(f"pkg:deb/debian/{package}@{version}", "\n\n".join(kept))


def of_no_concern(paragraph):
    """Of files that nobody ships: a package's tests, its documentation, the tools that it is built by."""
    files = re.match(r"Files:((.*\n)([ \t].*\n?)*)", paragraph + "\n")
    elsewhere = ("tests/", "test/", "third_party/", "site/", "docs/", "debian/", "tools/", "media/", "cmake/")
    return files is not None and all(each.startswith(elsewhere) for each in files[1].split())


def license_names(paragraph):
    """The short names in a paragraph's field License, such as those of "Expat or NCSA"."""
    named = re.search(r"^License:(.*)", paragraph, re.MULTILINE)
    return set(re.split(r",? (?:and|or|with) |, ", named[1].strip())) if named else set()


def of_python(path):
    """The distribution that a file of nanobind's folder belongs to; what that brings from elsewhere says so itself."""
    if "robin_map" in path.parts:
        header = next(each for each in path.parents if each.name == "robin_map") / "include/tsl/robin_map.h"
        license = re.match(r"/\*\*(.*?)\*/", header.read_text(encoding="utf-8"), re.DOTALL)[1]
        return Component("pkg:github/Tessil/robin-map",
                         "\n".join(line.removeprefix(" *").strip() for line in license.strip("\n").splitlines()))
    top = next(each for each in path.parents if each.name == "nanobind" and (each.parent / "nanobind").is_dir()
               and list(each.parent.glob("nanobind-*.dist-info")))
    [distribution] = importlib.metadata.distributions(name="nanobind", path=[str(top.parent)])
    [license] = [file for file in distribution.files if file.name == "LICENSE"]
    return Component(f"pkg:pypi/nanobind@{distribution.version}", license.read_text(encoding="utf-8"))


def output(*command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, **options).stdout


def packages_of(paths):
    """Debian's packages of files, in one question."""
    if not paths:
        return set()
    found = subprocess.run(["dpkg-query", "--search", *map(str, paths)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           text=True, check=False)
    if missing := re.search(r"no path found matching pattern (.*)", found.stderr):
        fail(f"{missing[1]} is in what is shipped and belongs to no package, expected one of Debian or PyPI")
    return {line.split(":")[0] for line in found.stdout.splitlines()}


def of_build(build, targets):
    """What the sources of the targets read: headers of others, whose code is in what is made of them."""
    build = pathlib.Path(build).resolve()
    if not (build / "build.ninja").exists():
        fail(f"{build} has no build.ninja, expected a build folder of meson")
    inputs = set(output("ninja", "-C", build, "-t", "inputs", *targets).splitlines())
    read, wanted = set(), False
    for line in output("ninja", "-C", build, "-t", "deps").splitlines():
        if not line.startswith(" "):
            wanted = line.split(":")[0] in inputs
        elif wanted:
            read.add((build / line.strip()).resolve())
    if not read:
        fail(f"{build}: nothing of {' '.join(targets)} was built")
    ours = (build, SOURCE)
    others = {path for path in read if not any(path.is_relative_to(each) for each in ours) and not is_ours(path)}
    others = {path for path in others if not NO_NOTICE.search(str(path))}
    of_pip = {path for path in others if "nanobind" in path.parts}
    emscripten = {path for path in others if "emscripten" in path.parts}
    packages = packages_of(sorted(others - of_pip - emscripten)) - NO_NOTICE_PACKAGES
    return {of_debian(each) for each in packages | ({"emscripten"} if emscripten else set())} | \
        {of_python(path) for path in of_pip}


def is_ours(path):
    """Of a copy of this tree elsewhere, such as the one that a source distribution is."""
    return any((parent / "optim/shiftgrad.h").exists() for parent in path.parents)


def of_book(book, build):
    book = pathlib.Path(book)
    packages = set()
    shipped = [path for path in book.glob("*.*") if path.is_file()] + sorted((book / "fonts").glob("*"))
    for name in sorted(str(path.relative_to(book)) for path in shipped):
        owner = next((package for pattern, package in BOOK_OF_OTHERS.items() if fnmatch.fnmatch(name, pattern)), None)
        if owner:
            packages.add(owner)
        elif not any(fnmatch.fnmatch(name, pattern) for pattern in BOOK_OF_OURS):
            fail(f"{name} is in the book and has no line in .packaging/notices.py, expected whose it is")
    return {of_debian(each) for each in packages} | of_build(build, ["examples/book/study.js"])


def of_wheel(folder, build, targets):
    """What auditwheel put in says its own bill of materials; it has a line for each library."""
    folder = pathlib.Path(folder)
    libraries = sorted(folder.glob("*.libs/*"))
    packages = [component["name"] for bill in folder.glob("*.dist-info/sboms/*.json")
                for component in json.loads(bill.read_text(encoding="utf-8"))["components"]
                if component.get("purl", "").startswith("pkg:deb/")]
    if len(packages) < len(libraries):
        fail(f"{folder}: {len(libraries)} libraries, and packages of {len(packages)}, expected one for each")
    return {of_debian(each) for each in packages} | of_build(build, targets)


def heading(component):
    name = re.sub(r".*/|@.*", "", component.address)
    title, licences = known(name)
    return f"## {title}: {component.address}, {licences}"


def notices(components):
    """Our licence, those of others, and the common ones to which they refer."""
    texts = sorted(f"{heading(each)}\n\n{each.text.strip()}\n" for each in components)
    common = sorted(set(re.findall(r"/usr/share/common-licenses/[A-Za-z0-9.-]*[A-Za-z0-9]", "".join(texts))))
    return "\n".join([
        (SOURCE / "LICENSE").read_text(encoding="utf-8"),
        "Software of others comes with it. Each part has its licences below.\n", *texts,
        *(f"## {name}\n\n{pathlib.Path(name).read_text(encoding='utf-8')}" for name in common),
    ])


def main(words):
    checked = None
    if words[:1] == ["--check"]:
        checked, words = words[1], words[2:]
    match words:
        case ["build", build, *targets] if targets: components = of_build(build, targets)
        case ["book", book, build]: components = of_book(book, build)
        case ["wheel", folder, build, *targets] if targets: components = of_wheel(folder, build, targets)
        case _: sys.exit(__doc__)
    if not checked:
        print(notices(components), end="")
        return
    there = pathlib.Path(checked).read_text(encoding="utf-8")
    missing = sorted(heading(each) for each in components if f"{heading(each)}\n\n{each.text.strip()}\n" not in there)
    for each in missing:
        print(f"{checked}: {each.removeprefix('## ')} is missing or has another text", file=sys.stderr)
    sys.exit(1 if missing else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
