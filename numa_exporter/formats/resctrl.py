"""resctrl memory bandwidth monitoring: names of domains and their counters.

Documentation/filesystems/resctrl.rst, fs/resctrl/{rdtgroup,ctrlmondata}.c. Below /sys/fs/resctrl/mon_data::

    mon_L3_00/mbm_total_bytes                   2467
    mon_L3_01/mbm_local_bytes                   1822
    mon_L3_00/mon_sub_L3_01/mbm_total_bytes     sub-NUMA clustering: one directory for each of its nodes
    mon_L3_02/mbm_total_bytes                   Unavailable

Bytes since the counter was given to the group, by CPUs only: a GPU's DMA never appears. A domain is an L3
cache (/sys/devices/system/cpu/cpuN/cache/index3/id), not a node: an EPYC socket has many. On AMD ``total``
also has dirty victims, so that total - local overstates what was remote.
"""

import re

from numa_exporter.formats import number
from numa_exporter.formats.parse_error import ParseError

_DOMAIN = re.compile(r"mon_(?:sub_)?L3_([0-9]{1,9})")
# "Error": the hardware refused the RMID; "Unassigned": counter assignment mode gave this group no counter.
_NO_VALUE = frozenset({b"Unavailable", b"Error", b"Unassigned"})


def domain(name: str) -> int | None:
    """L3 cache id of ``mon_L3_02``, node id of ``mon_sub_L3_02``; None for a directory of another name."""
    match = _DOMAIN.fullmatch(name)
    return int(match[1]) if match else None


def parse(data: bytes, path: str) -> int | None:
    """The bytes of a counter file; None where the kernel has no value for it now."""
    line = data.strip()
    if line in _NO_VALUE:
        return None
    if not number.countable(line):
        raise ParseError(path, 1, line, "a number of bytes, 'Unavailable', 'Error' or 'Unassigned'")
    return int(line)
