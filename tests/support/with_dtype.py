#!/usr/bin/env python3
"""Writes a checkpoint with its weights, which are F32, as F16, F64 or zeros of any other type of 8 bits.

    with_dtype.py FROM.safetensors TO.safetensors DTYPE
"""
import json
import struct
import sys

source, target, dtype = sys.argv[1:]
with open(source, "rb") as file:
    (size,) = struct.unpack("<Q", file.read(8))
    header = json.loads(file.read(size))
    data = file.read()
metadata = {"__metadata__": header.pop("__metadata__")}
parts, place = [], 0
for name, tensor in header.items():
    part = data[slice(*tensor["data_offsets"])]
    if not name.startswith("trainer."):
        values = struct.unpack(f"<{len(part) // 4}f", part)
        code = {"F16": "e", "F64": "d"}.get(dtype)
        part = struct.pack(f"<{len(values)}{code}", *values) if code else bytes(len(values))
        tensor["dtype"] = dtype
    tensor["data_offsets"] = [place, place + len(part)]
    place += len(part)
    parts.append(part)
text = json.dumps(metadata | header).encode()
with open(target, "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + b"".join(parts))
