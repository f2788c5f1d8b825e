"""/sys/devices/system/node/nodeN/meminfo: the memory of one node.

drivers/base/node.c:node_read_meminfo; keys vary between kernels, some print an empty first line::

    Node 0 MemTotal:       134182340 kB
    Node 0 MemFree:        53030372 kB
    Node 0 Inactive(file): 58809728 kB
    Node 0 SReclaimable:    4473124 kB
    Node 0 HugePages_Total:     0

``kB`` is 1024 bytes; ``HugePages_*`` count pages of the default size (/proc/meminfo ``Hugepagesize``) and
are left to ``nodeN/hugepages/hugepages-*kB``, which has every size. A node without memory says MemTotal 0.
"""

import re
from dataclasses import dataclass

from numa_exporter.formats import meminfo
from numa_exporter.formats.parse_error import ParseError

_NODE = re.compile(rb"Node [0-9]+ ")


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeMeminfo:
    """None where the kernel does not print the key. The huge page counts are pages of the default size."""

    total_bytes: int
    free_bytes: int | None
    file_pages_bytes: int | None
    active_file_bytes: int | None
    inactive_file_bytes: int | None
    slab_reclaimable_bytes: int | None
    hugepages_total: int | None
    hugepages_free: int | None

    @property
    def reclaimable_bytes(self) -> int | None:
        """File LRU + SReclaimable: what the kernel gives back before it must swap; None if any is unknown.

        Not ``FilePages``: that contains shared memory, which is no clean cache.
        """
        parts = (self.active_file_bytes, self.inactive_file_bytes, self.slab_reclaimable_bytes)
        return None if None in parts else sum(part or 0 for part in parts)


def parse(data: bytes, path: str) -> NodeMeminfo:
    """Raises ParseError on a line that is not ``Node N Key: NUMBER [kB]``, and where MemTotal is missing."""
    fields: dict[bytes, int] = {}
    for line_number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        prefix = _NODE.match(line)
        if prefix is None:
            raise ParseError(path, line_number, line, "'Node N Key: NUMBER kB'")
        key, value = meminfo.field(line[prefix.end() :], path, line_number, line)
        fields[key] = value
    if b"MemTotal" not in fields:
        raise ParseError(path, 0, b"", "'Node N MemTotal: NUMBER kB' and further fields")
    return NodeMeminfo(
        total_bytes=fields[b"MemTotal"],
        free_bytes=fields.get(b"MemFree"),
        file_pages_bytes=fields.get(b"FilePages"),
        active_file_bytes=fields.get(b"Active(file)"),
        inactive_file_bytes=fields.get(b"Inactive(file)"),
        slab_reclaimable_bytes=fields.get(b"SReclaimable"),
        hugepages_total=fields.get(b"HugePages_Total"),
        hugepages_free=fields.get(b"HugePages_Free"),
    )
