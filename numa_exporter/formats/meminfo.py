"""/proc/meminfo: what the machine has, and its default huge page size.

Documentation/filesystems/proc.rst, fs/proc/meminfo.c::

    MemTotal:        3742148 kB
    MemFree:          225472 kB
    HugePages_Total:       0
    HugePages_Free:        0
    Hugepagesize:       2048 kB

``kB`` is 1024 bytes. ``HugePages_*`` have no unit: they count pages of ``Hugepagesize``, the default size.
"""

import re
from dataclasses import dataclass

from numa_exporter.formats import number
from numa_exporter.formats.parse_error import ParseError

_FIELD = re.compile(rb"([^\s:]+):\s+(" + number.WORD + rb")( kB)?\s*\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Meminfo:
    """None where the kernel does not print the key."""

    total_bytes: int | None
    free_bytes: int | None
    huge_page_bytes: int | None
    """The default huge page size; a machine can have others beside it."""


def field(text: bytes, path: str, line_number: int, line: bytes) -> tuple[bytes, int]:
    """``Key: 123 kB`` as (key, bytes), ``Key: 123`` as (key, number); ``line`` is for the error only."""
    match = _FIELD.match(text)
    if match is None:
        raise ParseError(path, line_number, line, "'Key: NUMBER' or 'Key: NUMBER kB'")
    return match[1], int(match[2]) * (1024 if match[3] else 1)


def parse(data: bytes, path: str) -> Meminfo:
    """Raises ParseError on a line that is not a field, and on an empty file."""
    lines = data.splitlines()
    fields = dict(field(line, path, n, line) for n, line in enumerate(lines, 1) if line.strip())
    if not fields:
        raise ParseError(path, 0, b"", "'MemTotal: NUMBER kB' and further fields")
    return Meminfo(
        total_bytes=fields.get(b"MemTotal"),
        free_bytes=fields.get(b"MemFree"),
        huge_page_bytes=fields.get(b"Hugepagesize"),
    )
