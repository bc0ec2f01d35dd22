#!/usr/bin/env python3
"""Copies a checkpoint and puts a value in the place of the first number of a weight, or of all of them:

    spoiled.py FROM TO NAME VALUE [all]
"""
import json
import struct
import sys

source, target, name, value, *rest = sys.argv[1:]
with open(source, "rb") as file:
    content = bytearray(file.read())
(length,) = struct.unpack("<Q", content[:8])
begin, end = json.loads(content[8 : 8 + length])[name]["data_offsets"]
if not rest:
    end = begin + 4
content[8 + length + begin : 8 + length + end] = struct.pack("<f", float(value)) * ((end - begin) // 4)
with open(target, "wb") as file:
    file.write(content)
