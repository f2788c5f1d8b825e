"""Whole lines out of blocks of any size.

A file of 60,000 mappings is read in small blocks, so that the kernel drops the target's lock between them, but
parsed in large batches: the cost of a Python call is then paid per batch and not per block.
"""

from collections.abc import Iterable, Iterator

BATCH_BYTES = 1 << 16


def batches(blocks: Iterable[bytes], size: int = BATCH_BYTES) -> Iterator[list[bytes]]:
    """Lists of lines without their newlines; each list but the last holds at least ``size`` bytes of text.

    A last line without a newline is a line. No list is empty.
    """
    pending: list[bytes] = []
    gathered = 0
    for block in blocks:
        pending.append(block)
        gathered += len(block)
        if gathered >= size:
            *lines, rest = b"".join(pending).split(b"\n")
            pending, gathered = [rest], len(rest)
            if lines:
                yield lines
    *lines, rest = b"".join(pending).split(b"\n")
    if rest:
        lines.append(rest)
    if lines:
        yield lines
