#!/usr/bin/env python3
"""Writes the bill of materials of a release, as CycloneDX does: bill.py VERSION FOLDER > shiftgrad-VERSION.cdx.json

Each file of the folder is a part of the release, with its SHA-256. What it is made of says the file of notices inside a
wheel, a Debian package or the book (notices.py). The same files make the same bill, at the time $SOURCE_DATE_EPOCH.
"""

import datetime
import gzip
import hashlib
import io
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import uuid
import zipfile

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL

HEADING = re.compile(r"^## (.*): (pkg:\S+), (.*)$", re.MULTILINE)


def notices_in(path):
    """The notices inside a file of the release, or nothing where it has code of ours alone."""
    if path.suffix in (".whl", ".zip"):
        with zipfile.ZipFile(path) as archive:
            found = [name for name in archive.namelist() if pathlib.PurePath(name).name == "notices.txt"]
            return archive.read(found[0]).decode("utf-8") if found else ""
    if path.suffix == ".deb":
        tar = subprocess.run(["dpkg-deb", "--fsys-tarfile", path], stdout=subprocess.PIPE, check=True).stdout
        with tarfile.open(fileobj=io.BytesIO(tar)) as archive:
            found = [member for member in archive if re.search(r"/NOTICES(\.gz)?$", member.name)]
            text = archive.extractfile(found[0]).read() if found else b""
            return (gzip.decompress(text) if found and found[0].name.endswith(".gz") else text).decode("utf-8")
    return ""


def part(title, address, licences):
    """One piece of software that comes with a file, by its package URL."""
    url = PackageURL.from_string(address)
    return Component(name=url.name, version=url.version, description=title, type=ComponentType.LIBRARY, purl=url,
                     bom_ref=address, licenses=[LicenseFactory().make_from_string(licences)])


def bill(version, folder):
    product = Component(name="shiftgrad", version=version, type=ComponentType.LIBRARY, bom_ref=f"shiftgrad@{version}",
                        licenses=[LicenseFactory().make_from_string("MIT")])
    made = Bom()
    made.metadata.component = product
    made.metadata.timestamp = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    sums, parts, files = hashlib.sha256(), {}, []
    for path in sorted(folder.iterdir()):
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        sums.update(f"{path.name} {digest}\n".encode("utf-8"))
        file = Component(name=path.name, version=version, type=ComponentType.FILE, bom_ref=path.name,
                         hashes=[HashType(alg=HashAlgorithm.SHA_256, content=digest)])
        made.components.add(file)
        inside = [parts.setdefault(found[1], part(*found)) for found in HEADING.findall(notices_in(path))]
        made.components.update(inside)
        made.register_dependency(file, inside)
        files.append(file)
    made.register_dependency(product, files)
    made.serial_number = uuid.uuid5(uuid.NAMESPACE_URL, sums.hexdigest())
    return made


def main(version, folder):
    text = JsonV1Dot6(bill(version, pathlib.Path(folder))).output_as_string(indent=2)
    if error := JsonStrictValidator(SchemaVersion.V1_6).validate_str(text):
        sys.exit(f"bill: {error}")
    print(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
