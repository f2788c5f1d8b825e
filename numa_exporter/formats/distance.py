"""/sys/devices/system/node/nodeN/distance: one row of the firmware's distance table (ACPI SLIT).

drivers/base/node.c:node_read_distance prints one column for each *online* node, in ascending order::

    10 21
    10 16 16 22
    10 20 20 20 20 40 40 40
    10 255          (unreachable)

No unit: 10 is local, and the rest is firmware's opinion. Good for ranking, not for arithmetic.
"""

from collections.abc import Collection

from numa_exporter.formats import number
from numa_exporter.formats.parse_error import ParseError


def parse(data: bytes, path: str, online: Collection[int]) -> dict[int, int]:
    """Distance to each online node id; ``online`` is /sys/devices/system/node/online.

    Raises ParseError where the row has another length: a node came or went between the two reads.
    """
    line = data.strip()
    words = line.split()
    if len(words) != len(online):
        raise ParseError(path, 1, line, f"{len(online)} distances, one for each online node")
    return {node: number.count(word, path, 1, line) for node, word in zip(sorted(online), words, strict=True)}
