"""Memory tiers: which nodes the kernel holds to be equally fast.

Documentation/ABI/testing/sysfs-kernel-mm-memory-tiers, mm/memory-tiers.c; /sys/devices/virtual/memory_tiering
(6.1 and later) has a directory for each tier with a kernel id list in it::

    memory_tier4/nodelist       0-3
    memory_tier22/nodelist      4

A lower number is a faster tier; DRAM of CPU nodes is 4 by default (``nodelist`` is read by ``idlist``).
"""

import re

_TIER = re.compile(r"memory_tier([0-9]{1,9})")


def tier(name: str) -> int | None:
    """4 of ``memory_tier4``; None for a directory of another name."""
    match = _TIER.fullmatch(name)
    return int(match[1]) if match else None
