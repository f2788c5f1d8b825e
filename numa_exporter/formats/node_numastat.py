"""/sys/devices/system/node/nodeN/numastat: how allocations met their wishes on one node.

Documentation/admin-guide/numastat.rst, drivers/base/node.c:node_read_numastat::

    numa_hit 193460335812
    numa_miss 12624528
    numa_foreign 59858623300
    interleave_hit 57146
    local_node 193454780853
    other_node 18179487

Allocation events since boot: neither accesses nor bytes, and a huge page counts once. ``miss`` is booked on
the node that served, ``foreign`` on the node that was wanted. vm.numa_stat=0 sets all to zero.
"""

from numa_exporter.formats import vmstat

_EVENTS = (
    ("numa_hit", "hit"),
    ("numa_miss", "miss"),
    ("numa_foreign", "foreign"),
    ("interleave_hit", "interleave"),
    ("local_node", "local"),
    ("other_node", "other"),
)


def parse(data: bytes, path: str) -> dict[str, int]:
    """Events since boot by ``hit miss foreign interleave local other``; a line the kernel lacks is absent.

    Raises ParseError on a line that is not ``name NUMBER``, and on an empty file.
    """
    found = vmstat.counters(data, path)
    return {event: found[line] for line, event in _EVENTS if line in found}
