#!/usr/bin/env python3
"""Packs a folder, by its last name, as an archive whose bits depend on the folder's files alone: pack.py ARCHIVE FOLDER

ARCHIVE ends in .tar.gz or .zip. Names are sorted, everything is of the time $SOURCE_DATE_EPOCH and of nobody, and who may
run a file may do so for all.
"""

import gzip
import os
import pathlib
import stat
import sys
import tarfile
import time
import zipfile


def mode_of(path):
    return 0o755 if path.lstat().st_mode & stat.S_IXUSR else 0o644


def names_in(folder):
    """The folder and all below it, each with its name in the archive."""
    everything = [folder, *folder.rglob("*")]
    return sorted((path.relative_to(folder.parent).as_posix(), path) for path in everything)


def write_tar(archive, folder, when):
    def as_nobody(member):
        member.mtime, member.uid, member.gid, member.uname, member.gname = when, 0, 0, "", ""
        member.mode = 0o777 if member.issym() else mode_of(folder.parent / member.name)
        return member

    with open(archive, "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as tar:
            for name, path in names_in(folder):
                tar.add(path, name, recursive=False, filter=as_nobody)


def write_zip(archive, folder, when):
    date = max(time.gmtime(when)[:6], (1980, 1, 1, 0, 0, 0))
    with zipfile.ZipFile(archive, "w") as packed:
        for name, path in names_in(folder):
            if not path.is_dir():
                member = zipfile.ZipInfo(name, date)
                member.external_attr = (stat.S_IFREG | mode_of(path)) << 16
                member.compress_type = zipfile.ZIP_DEFLATED
                packed.writestr(member, path.read_bytes())


def main(archive, folder):
    write = write_zip if archive.endswith(".zip") else write_tar
    write(archive, pathlib.Path(folder).resolve(), int(os.environ["SOURCE_DATE_EPOCH"]))


if __name__ == "__main__":
    main(*sys.argv[1:])
