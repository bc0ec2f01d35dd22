#!/usr/bin/env python3
"""Writes a checkpoint of char_lm as save() writes the same model: without its vocabulary and its flags.

    without_vocabulary.py FROM.safetensors TO.safetensors
"""
import json
import struct
import sys

source, target = sys.argv[1:]
with open(source, "rb") as file:
    (size,) = struct.unpack("<Q", file.read(8))
    header = json.loads(file.read(size))
    data = file.read()
metadata = header["__metadata__"]
metadata["format"] = "shiftgrad-model-1"
for name in ("vocabulary", "training"):
    del metadata[name]
text = json.dumps(header).encode()
with open(target, "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + data)
