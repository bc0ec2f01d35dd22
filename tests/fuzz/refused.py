#!/usr/bin/env python3
"""The files of refused.tsv. As a program, writes each by its name into the folder that the argument names."""

import re
import struct
import sys
from pathlib import Path


def files():
    """Each file's name and bytes."""
    for line in Path(__file__).with_suffix(".tsv").read_text().splitlines():
        if line.startswith("#"):
            continue
        name, length, header, data, _ = line.split("\t")
        header = re.sub(rb"\\x(..)", lambda byte: bytes.fromhex(byte[1].decode()), header.encode())
        start = b"" if length == "-" else struct.pack("<Q", int(length or len(header)))
        yield name, start + header + bytes.fromhex(data)


if __name__ == "__main__":
    for name, content in files():
        Path(sys.argv[1], name).write_bytes(content)
