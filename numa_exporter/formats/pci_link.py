"""Link speed and width of a PCIe function.

Documentation/ABI/testing/sysfs-bus-pci ({current,max}_link_{speed,width}), drivers/pci/pci-sysfs.c and
drivers/pci/probe.c:pci_speed_string::

    16.0 GT/s PCIe      current_link_speed
    2.5 GT/s PCIe       a GPU at rest: idle links slow down by design
    8 GT/s              older kernels
    Unknown             nothing negotiated (also "Unknown speed")
    16                  current_link_width, in lanes

Speed is in GT/s for each lane. Width 0 is "no link" and 255 is the kernel's PCI_EXP_LNK_WIDTH "unknown".
"""

import re

from numa_exporter.formats import number
from numa_exporter.formats.parse_error import ParseError

_SPEED = re.compile(rb"([0-9]{1,9}(?:\.[0-9]{1,9})?) GT/s(?: .*)?")
_NO_WIDTH = (0, 255)


def parse_speed(data: bytes, path: str) -> float | None:
    """GT/s for each lane; None where the kernel says Unknown."""
    line = data.strip()
    if line.startswith(b"Unknown"):
        return None
    match = _SPEED.fullmatch(line)
    if match is None:
        raise ParseError(path, 1, line, "'NUMBER GT/s' or 'Unknown'")
    return float(match[1])


def parse_width(data: bytes, path: str) -> int | None:
    """Lanes; None where the link has none or the kernel does not know."""
    width = number.parse(data, path)
    return None if width in _NO_WIDTH else width
