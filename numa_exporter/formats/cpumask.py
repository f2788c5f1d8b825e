"""CPU and node sets as masks.

Documentation/core-api/irq/irq-affinity.rst, lib/vsprintf.c (``%*pb``): 32-bit words, the highest first::

    00000000,ffffffff       /proc/irq/N/smp_affinity of a machine with room for 64 CPUs
    ffff                    the same of a machine with 16
    1,00000000,00000000     CPU 64

and as raw words, the lowest first: what sched_getaffinity(2) fills in and what
nvmlDeviceGetCpuAffinity and nvmlDeviceGetMemoryAffinity return (``unsigned long`` each).
"""

import re
from collections.abc import Iterable

from numa_exporter.formats import idlist
from numa_exporter.formats.parse_error import ParseError

LONGEST = idlist.LIMIT // 32 * 9
"""Characters of a mask of as many ids as a list may have."""
_MASK = re.compile(rb"[0-9a-fA-F]{1,8}(?:,[0-9a-fA-F]{8})*|[0-9a-fA-F]+")


def parse(data: bytes, path: str) -> frozenset[int]:
    """The ids whose bit is set; raises ParseError for anything but comma-separated hexadecimal words."""
    text = data.strip()
    if len(text) > LONGEST or _MASK.fullmatch(text) is None:
        raise ParseError(path, 1, text, "a mask such as 00000000,ffffffff")
    return _bits(int(text.replace(b",", b""), 16))


def from_bytes(raw: bytes) -> frozenset[int]:
    """The ids of a little-endian affinity buffer of any length."""
    return _bits(int.from_bytes(raw, "little"))


def from_words(words: Iterable[int], bits: int = 64) -> frozenset[int]:
    """The ids of an array of ``bits``-wide words, the lowest first."""
    return _bits(sum(word << position * bits for position, word in enumerate(words)))


def _bits(mask: int) -> frozenset[int]:
    return frozenset(id_ for id_, bit in enumerate(reversed(f"{mask:b}")) if bit == "1")
