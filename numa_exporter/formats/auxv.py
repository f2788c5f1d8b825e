"""/proc/self/auxv: what the kernel told a program at its start; here for page size and clock ticks.

getauxval(3), fs/binfmt_elf.c:create_elf_tables. Pairs of machine words, closed by a pair of zeros::

    06 00 00 00 00 00 00 00   00 10 00 00 00 00 00 00       AT_PAGESZ 4096
    11 00 00 00 00 00 00 00   64 00 00 00 00 00 00 00       AT_CLKTCK 100
    00 00 00 00 00 00 00 00   00 00 00 00 00 00 00 00

The file of another machine may have other words: their width and byte order are told by trying.
"""

import struct
from dataclasses import dataclass

from numa_exporter.formats.parse_error import ParseError

_AT_PAGESZ = 6
_AT_CLKTCK = 17
_WORDS = ("<Q", ">Q", "<I", ">I")


@dataclass(frozen=True, slots=True, kw_only=True)
class Auxv:
    """Bytes of a base page, and clock ticks a second."""

    page_bytes: int
    clock_ticks: int


def parse(data: bytes, path: str) -> Auxv:
    """Raises ParseError where no word size gives a plausible page size and tick rate."""
    for word in _WORDS:
        values = _pairs(data, word)
        page, ticks = values.get(_AT_PAGESZ, 0), values.get(_AT_CLKTCK, 0)
        if 4096 <= page <= 1 << 20 and page & (page - 1) == 0 and 0 < ticks <= 10_000:
            return Auxv(page_bytes=page, clock_ticks=ticks)
    raise ParseError(path, 0, data[:64], "pairs of words with AT_PAGESZ and AT_CLKTCK")


def _pairs(data: bytes, word: str) -> dict[int, int]:
    size = 2 * struct.calcsize(word)
    whole = data[: len(data) // size * size]
    return dict(struct.iter_unpack(f"{word}{word[1]}", whole))
