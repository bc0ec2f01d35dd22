"""What a dense mask hides, said in the words of relative_attention."""

import torch

from .operator import checked

_BLOCK = 1 << 24  # elements of a mask that are looked at at once


def seen(mask):
    """Reads a mask that is true, or not 0, where a key is seen."""
    return mask == 0


def hides(mask):
    """Reads a mask that is true, or 1, where a key is hidden."""
    return mask > 0


def added(mask):
    """Reads a mask of floats that is added to the score, or one of bools that are true where a key is seen."""
    return ~mask if mask.dtype is torch.bool else mask < 0


def _numbers(mask, read):
    """The numbers of a mask that do nothing but to hide or not, as bools, and what they are; None for all."""
    if read is seen or mask.dtype is torch.bool:
        return None
    if read is hides:
        return (mask == 0) | (mask == 1), "0 and 1"
    lowest = torch.finfo(mask.dtype).min
    return (mask == 0) | (mask <= lowest / 2), f"0 and {lowest:.5g}"


def is_expressible(mask, read):
    """Whether a mask does nothing but to hide."""
    numbers = _numbers(mask, read)
    return numbers is None or bool(numbers[0].all())


def _said(hidden):
    """Options that hide what a mask [B, T or 1, K] does, and the queries that see no key."""
    if hidden.shape[1] == 1:
        return {"key_padding_mask": hidden[:, 0]}, hidden.all(-1)  # [B, 1]
    return {"attention_mask": hidden}, hidden.all(-1)  # [B, T]


def unseen(mask, read):
    """What a mask [B, T, K] hides, where a compiler cannot look at it, and the queries that see no key.

    A mask that does more than to hide is a ValueError when the graph runs.
    """
    hidden, numbers = read(mask), _numbers(mask, read)
    if numbers is not None:
        hidden = checked(
            numbers[0].all(), hidden, f"accelerate: a mask under torch.compile has numbers other than {numbers[1]}, "
            "which the kernel cannot add to the score; without torch.compile the module's own code does")
    return _said(hidden)


def structure(mask, read):
    """What a mask [B, T, K] hides, as padding and a causal rule, a window or chunks where it is these.

    Returns the options of relative_attention and the queries [B, T] that see no key, or None for these where
    there are none. Returns None where the mask does something else than to hide. The mask is read in blocks of
    rows, so that nothing of its size is made but where it has no structure.
    """
    B, T, K = mask.shape
    if T == 1 or mask.stride(1) == 0:
        mask = mask[:, :1]
    step = max(1, _BLOCK // (B * K))
    blocks = [slice(start, start + step) for start in range(0, mask.shape[1], step)]
    if not all(is_expressible(mask[:, rows], read) for rows in blocks):
        return None
    if mask.shape[1] == 1:
        arguments, blind = _said(read(mask))
        return _without_false(arguments), blind.expand(B, T) if blind.any() else None
    padding, blind, begin, end = torch.ones(B, K, dtype=torch.bool, device=mask.device), [], [], []
    for rows in blocks:
        hidden = read(mask[:, rows])  # [B, rows, K]
        blind.append(hidden.all(-1))  # [B, rows]
        padding &= (hidden | blind[-1][..., None]).all(1)
        visible = (~hidden).any(0)  # [rows, K]
        begin.append(visible.byte().argmax(-1))
        end.append(K - visible.flip(-1).byte().argmax(-1))
    blind, begin, end = torch.cat(blind, 1), torch.cat(begin), torch.cat(end)  # [B, T], [T], [T]
    sees = ~blind.all(0)
    for rule, first, last in _rules(begin[sees], end[sees], sees.nonzero()[:, 0], T, K) if sees.any() else ():
        j = torch.arange(K, device=mask.device)
        outside = ((j[None] < first[rows, None]) | (j[None] >= last[rows, None]) for rows in blocks)
        if all(torch.equal(read(mask[:, rows]), padding[:, None] | blind[:, rows, None] | beyond)
               for rows, beyond in zip(blocks, outside)):
            return rule | _without_false({"key_padding_mask": padding}), blind if blind.any() else None
    return {"attention_mask": torch.cat([read(mask[:, rows]) for rows in blocks], 1)}, \
        blind if blind.any() else None


def _without_false(arguments):
    return {name: mask for name, mask in arguments.items() if mask.any()}


def _rules(begin, end, i, T, K):
    """The rules that a mask may follow which shows the queries i no keys but begin … end - 1, and the first and
    the last key that each rule leaves to each of all T queries."""
    at, queries = K - T + i, torch.arange(T, device=i.device)
    every = K - T + queries
    yield {}, torch.zeros_like(every), torch.full_like(every, K)
    yield {"causal": True}, torch.zeros_like(every), every + 1
    left, right = int((at - begin).max()), int((end - 1 - at).max())
    if left >= 0 and right >= 0:
        yield {"window": (left, right), "causal": right == 0}, every - left, every + right + 1
    size = int(end[0] - begin[0]) if i[0] == 0 else 0
    if K == T and 1 <= size < K:
        left = int(i[-1] // size - begin[-1] // size)
        yield {"chunk": (size, left)}, (queries // size - left) * size, (queries // size + 1) * size
