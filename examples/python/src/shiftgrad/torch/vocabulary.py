"""What a model's tokens stand for."""

from typing import Any

import torch

from shiftgrad import _extension


class Vocabulary:
    """The bytes, characters or words that a model knows, as char_lm or seq2seq collected them.

    Vocabulary("Characters", "bytes", codes) has char_lm's, Vocabulary("Symbols", "words", texts,
    longest) those of one side of seq2seq.
    """

    def __init__(self, kind: str, unit: str, *parts: Any):
        self.unit, self._arguments = unit, (kind, unit, *parts)
        self._known = getattr(_extension, kind)(unit, *parts)

    def __reduce__(self):
        return Vocabulary, self._arguments

    def __len__(self) -> int:
        return len(self._known)

    def __repr__(self):
        return f"Vocabulary({len(self)} tokens, {self.unit})"

    def encode(self, text: str | bytes) -> torch.Tensor:
        """Returns the tokens [T] of a text, a str or bytes in UTF-8. Raises a ValueError at what is unknown."""
        if not isinstance(text, (str, bytes)):
            raise TypeError(f"encode: the text is {type(text).__name__}, expected str or bytes")
        text = text.encode() if isinstance(text, str) else text
        return torch.tensor(self._known.encode(text), dtype=torch.int64, device="cpu")

    def decode_bytes(self, tokens: torch.Tensor | list[int]) -> bytes:
        """Returns the bytes that the tokens stand for, a tensor [T] or a list."""
        return self._known.decode([int(token) for token in tokens])

    def decode(self, tokens: torch.Tensor | list[int]) -> str:
        """Returns the text of the tokens. What is no UTF-8, in a vocabulary of bytes, becomes U+FFFD."""
        return self.decode_bytes(tokens).decode(errors="replace")
