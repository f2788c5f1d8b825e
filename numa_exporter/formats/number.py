"""A file or a word that is one number.

Documentation/ABI/stable/sysfs-devices-node, sysfs-bus-pci and most of sysfs hold one value a file::

    -1              /sys/bus/pci/devices/0000:8d:00.0/numa_node (NUMA_NO_NODE)
    512             /sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages
    0x10de          /sys/bus/pci/devices/0000:8d:00.0/vendor
    0x030200        /sys/bus/pci/devices/0000:8d:00.0/class

Units are those of the file. ``int()`` alone would take ``1_000``, ``+1`` and non-ASCII digits, which no
kernel prints: here they are broken lines.
"""

import re

from numa_exporter.formats.parse_error import ParseError

DIGITS = 40
"""The most of a decimal number: twice what 64 bits take. int() itself raises ValueError past 4300 (CVE-2020-10735)."""

WORD = rb"[0-9]{1,%d}" % DIGITS
"""The same as a pattern, for lines that a regular expression reads."""

_INTEGER = re.compile(rb"\s*(-?" + WORD + rb")\s*\Z")
_HEXADECIMAL = re.compile(rb"\s*0x([0-9a-fA-F]{1,64})\s*\Z")


def parse(data: bytes, path: str) -> int:
    """The one decimal integer of a sysfs or /proc/sys file; raises ParseError for anything else."""
    match = _INTEGER.match(data)
    if match is None:
        raise ParseError(path, 1, data.strip(), "one decimal integer")
    return int(match[1])


def parse_hex(data: bytes, path: str) -> int:
    """The one ``0x…`` number of a sysfs file (PCI vendor, device, class)."""
    match = _HEXADECIMAL.match(data)
    if match is None:
        raise ParseError(path, 1, data.strip(), "one hexadecimal number with 0x")
    return int(match[1], 16)


def count(word: bytes, path: str, line_number: int, line: bytes) -> int:
    """A word of a line as a non-negative decimal integer; ``line`` is for the error only."""
    if not countable(word):
        raise ParseError(path, line_number, line, "a non-negative decimal integer")
    return int(word)


def countable(word: bytes) -> bool:
    """Whether ``int`` can be asked for a word: digits, and not more of them than any number has."""
    return word.isdigit() and len(word) <= DIGITS
