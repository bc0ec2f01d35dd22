"""Reads, changes and writes checkpoints in the safetensors format."""

import json
import os
import struct


def read_checkpoint(path):
    """Returns the metadata, and (dtype, shape, bytes) of each tensor."""
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
        data = file.read()
    facts = header.pop("__metadata__")
    return facts, {name: (tensor["dtype"], tensor["shape"], data[slice(*tensor["data_offsets"])])
                   for name, tensor in header.items()}


def write_checkpoint(path, facts, tensors):
    header, data = laid_out(tensors)
    write_safetensors(path, {"__metadata__": facts, **header}, data)


def laid_out(tensors):
    """Returns the header without metadata, and the data."""
    header, data = {}, b""
    for name, (dtype, shape, values) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(values)]}
        data += values
    return header, data


def write_safetensors(path, header, data):
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def weights(tensors):
    """Those of the model, without what the trainer keeps."""
    return {name: tensor for name, tensor in tensors.items() if not name.startswith("trainer.")}


def change_flags(source, target, **changes):
    """Copies a checkpoint, but for these flags of the training."""
    facts, tensors = read_checkpoint(source)
    facts["training"] = json.dumps(json.loads(facts["training"]) | changes)
    write_checkpoint(target, facts, tensors)


def change_type(source, target, dtype):
    """Copies a checkpoint with its weights, which are F32, as F16, F64 or zeros of any other type of 8 bits."""
    facts, tensors = read_checkpoint(source)
    code = {"F16": "e", "F64": "d"}.get(dtype)
    for name, (_, shape, values) in weights(tensors).items():
        count = len(values) // 4
        values = struct.pack(f"<{count}{code}", *struct.unpack(f"<{count}f", values)) if code else bytes(count)
        tensors[name] = dtype, shape, values
    write_checkpoint(target, facts, tensors)


def spoil(source, target, name, value, every=False):
    """Copies a checkpoint with this value in the place of the first number of a weight, or of all of them."""
    facts, tensors = read_checkpoint(source)
    dtype, shape, values = tensors[name]
    spoiled = len(values) // 4 if every else 1
    tensors[name] = dtype, shape, struct.pack("<f", value) * spoiled + values[4 * spoiled:]
    write_checkpoint(target, facts, tensors)


def leave_out_vocabulary(source, target):
    """Copies a checkpoint of char_lm as save() writes the same model: without its vocabulary and its flags."""
    facts, tensors = read_checkpoint(source)
    facts["format"] = "shiftgrad-model-1"
    for name in "vocabulary", "training":
        del facts[name]
    write_checkpoint(target, facts, tensors)


def broken_copies(source, changes):
    """Writes the checkpoint into the folder `broken`, broken in every way, one after the other."""
    with open(source, "rb") as file:
        whole = file.read()
    os.mkdir("broken")
    changes = [*changes, (rb'\"n_head\":2', rb'\"n_head\":3')]
    assert all(before in whole for before, _ in changes), changes
    for content in [*(whole[:size] for size in (0, 7, 100, 2000)), whole + b"\n",
                    *(whole.replace(*change) for change in changes)]:
        with open("broken/best.safetensors", "wb") as file:
            file.write(content)
        yield
