"""/proc/PID/fdinfo/FD of an open DRM device: what one client of a GPU uses.

Documentation/gpu/drm-usage-stats.rst; drivers/gpu/drm/drm_file.c:drm_show_fdinfo::

    pos:	0
    drm-driver:	amdgpu
    drm-client-id:	24
    drm-pdev:	0000:c3:00.0
    drm-memory-vram:	8388608 KiB
    drm-resident-vram0:	8192 MiB
    drm-engine-compute:	5012341 ns

Sizes have the unit B (left out), KiB, MiB … and leave as bytes. ``resident`` is what ``memory`` was called before
6.5. Descriptors that are copies of one another show the same client: count a client once.
"""

import re
from dataclasses import dataclass

from numa_exporter.formats import pci_address
from numa_exporter.formats.parse_error import ParseError
from numa_exporter.formats.pci_address import PciAddress

# Memory on the card: amdgpu and xe say vram (xe with a number), i915 says local.
_CARD_MEMORY = re.compile(r"drm-(resident|memory)-(?:vram|local)([0-9]*)")
_SIZE = re.compile(r"([0-9]{1,18})(?:\s+(\S+))?")
_UNIT = {"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


@dataclass(frozen=True, slots=True, kw_only=True)
class DrmClient:
    """``card_bytes`` is the client's memory on the card, None where the driver does not say."""

    driver: str
    client_id: str | None
    address: PciAddress | None
    card_bytes: int | None


def parse(data: bytes, path: str) -> DrmClient | None:
    """None where the descriptor is no DRM client's; raises ParseError on a broken size."""
    values: dict[str, str] = {}
    sizes: dict[str, dict[str, int]] = {"resident": {}, "memory": {}}
    for number, line in enumerate(data.splitlines(), 1):
        key, _, value = line.decode("utf-8", "backslashreplace").partition(":")
        values[key] = value.strip()
        memory = _CARD_MEMORY.fullmatch(key)
        if memory:
            sizes[memory[1]][memory[2]] = _size(value, path, number, line)
    if "drm-driver" not in values:
        return None
    regions = sizes["resident"] or sizes["memory"]
    return DrmClient(
        driver=values["drm-driver"],
        client_id=values.get("drm-client-id"),
        address=pci_address.parse(values.get("drm-pdev", "")),
        card_bytes=sum(regions.values()) if regions else None,
    )


def _size(value: str, path: str, number: int, line: bytes) -> int:
    match = _SIZE.fullmatch(value.strip())
    if match is None or (match[2] or "") not in _UNIT:
        raise ParseError(path, number, line, "a size such as '8192 KiB'")
    return int(match[1]) * _UNIT[match[2] or ""]
