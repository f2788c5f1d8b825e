"""The kernel's list form of CPU and node sets.

lib/bitmap-str.c:bitmap_parselist and the ``%*pbl`` of lib/vsprintf.c; Documentation/core-api/kernel-api.rst::

    0-15,32-47                      /sys/devices/system/node/node0/cpulist
    0                               /sys/devices/system/node/online
    0,3-9,11-17                     nodes beside a GB200's GPU
                                    cpulist of a memory-only node: nothing but a newline
    0-10:2/4                        the first two of every four, as a person may write it: 0,1,4,5,8,9

CPU or node ids; an id can be far beyond the number of nodes (sparse ids). The kernel prints ascending ranges
and never a stride, but takes both, and blanks for commas. Kernels before 2.6.37 let a NUL follow the newline.
"""

import re
from collections.abc import Collection, Iterable

from numa_exporter.formats.parse_error import ParseError

LIMIT = 1 << 16
"""Ids at or above this are a broken file: no kernel has so many CPUs (NR_CPUS) or nodes (MAX_NUMNODES)."""

_RANGE = re.compile(r"([0-9]{1,20})(?:-([0-9]{1,20})(?::([0-9]{1,20})/([0-9]{1,20}))?)?")


def parse(data: bytes | str, path: str, line_number: int = 1) -> frozenset[int]:
    """The ids of a list; raises ParseError for anything that bitmap_parselist would refuse."""
    text = data if isinstance(data, str) else data.decode("ascii", "backslashreplace")
    text = text.removesuffix("\0")
    ids: set[int] = set()
    named = 0
    for word in text.replace(",", " ").split():
        region = _region(word)
        named += len(region) if region is not None else 0
        if region is None or named > LIMIT:  # a short text can name all ids thousands of times
            broken = text.strip().encode("utf-8", "backslashreplace")
            raise ParseError(path, line_number, broken, "a list of ids such as 0-3,8,10-11")
        ids.update(region)
    return frozenset(ids)


def _region(word: str) -> Collection[int] | None:
    """``5``, ``0-3`` or ``0-10:2/4``; None if it is none of them, runs backwards or beyond LIMIT."""
    match = _RANGE.fullmatch(word)
    if match is None:
        return None
    first, last, used, group = (None if digits is None else int(digits) for digits in match.groups())
    assert first is not None
    last = first if last is None else last
    if last < first or last >= LIMIT:
        return None
    if used is None or group is None:
        return range(first, last + 1)
    if group == 0 or used > group:
        return None
    return [id_ for id_ in range(first, last + 1) if (id_ - first) % group < used]


def render(ids: Iterable[int]) -> str:
    """The list as the kernel prints it; the empty set is the empty string."""
    parts: list[str] = []
    first = last = None
    for id_ in [*sorted(ids), None]:
        if last is not None and id_ != last + 1:
            parts.append(str(first) if first == last else f"{first}-{last}")
            first = None
        first = id_ if first is None else first
        last = id_
    return ",".join(parts)
