#!/usr/bin/env python3
"""Copies a checkpoint and changes the training flags that it carries:

    saved_flags.py FROM TO NAME=JSON...
"""
import json
import struct
import sys

source, target, *changes = sys.argv[1:]
with open(source, "rb") as file:
    content = file.read()
(length,) = struct.unpack("<Q", content[:8])
header = json.loads(content[8 : 8 + length])
flags = json.loads(header["__metadata__"]["training"])
for change in changes:
    name, value = change.split("=", 1)
    flags[name] = json.loads(value)
header["__metadata__"]["training"] = json.dumps(flags)
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
with open(target, "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + content[8 + length :])
