"""What a model's tokens stand for."""

from typing import Any

import torch

from shiftgrad import _extension

from .inputs import count, shown


class Vocabulary:
    """The bytes, characters or words that a model knows, as char_lm or seq2seq collected them.

    Vocabulary("Characters", "bytes", codes) has char_lm's, Vocabulary("Symbols", "words", texts,
    longest) those of one side of seq2seq.
    """

    def __init__(self, kind: str, unit: str, *parts: Any):
        if kind not in ("Characters", "Symbols"):
            raise ValueError(f'Vocabulary: kind is {shown(kind)}, expected "Characters" or "Symbols"')
        units = ("bytes", "all_bytes", "characters") if kind == "Characters" else ("characters", "words")
        if unit not in units:
            raise ValueError(f"Vocabulary: unit is {shown(unit)}, expected {', '.join(units[:-1])} or {units[-1]}")
        if kind == "Symbols" and len(parts) == 2:
            parts = parts[0], count("Vocabulary", "longest", parts[1])
        self.unit, self._arguments = unit, (kind, unit, *parts)
        try:
            self._known = getattr(_extension, kind)(unit, *parts)
        except TypeError:
            expected = "unit and codes" if kind == "Characters" else "unit, texts and longest"
            raise TypeError(f"Vocabulary: behind {kind} stand {shown((unit, *parts))}, expected {expected}") from None

    def __reduce__(self):
        return Vocabulary, self._arguments

    def __len__(self) -> int:
        return len(self._known)

    def __repr__(self):
        return f"Vocabulary({len(self)} tokens, {self.unit})"

    def encode(self, text: str | bytes) -> torch.Tensor:
        """Returns the tokens [T] of a text, a str or bytes in UTF-8. Raises a ValueError at what is unknown."""
        if not isinstance(text, (str, bytes)):
            raise TypeError(f"encode: text is {type(text).__name__}, expected str or bytes")
        text = text.encode() if isinstance(text, str) else text
        return torch.tensor(self._known.encode(text), dtype=torch.int64, device="cpu")

    def decode_bytes(self, tokens: torch.Tensor | list[int]) -> bytes:
        """Returns the bytes that the tokens stand for, a tensor [T] or a list."""
        if isinstance(tokens, torch.Tensor):
            tokens = tokens.tolist()
        if not isinstance(tokens, (list, tuple)):
            raise TypeError(f"decode: tokens is {shown(tokens)}, expected a tensor [T] or a list")
        return self._known.decode([count("decode", "a token", token) for token in tokens])

    def decode(self, tokens: torch.Tensor | list[int]) -> str:
        """Returns the text of the tokens. What is no UTF-8, in a vocabulary of bytes, becomes U+FFFD."""
        return self.decode_bytes(tokens).decode(errors="replace")
