"""cpuacct.usage_percpu of cgroup v1: the exact CPU time of a cgroup on each CPU. v2 has no such file.

Documentation/admin-guide/cgroup-v1/cpuacct.rst, kernel/sched/cpuacct.c:__cpuacct_percpu_seq_show prints one
number for each *possible* CPU, in ascending order, on one line::

    50371293154 49932044517 0 0

Nanoseconds, user and system together, the cgroup with all below it.
"""

from collections.abc import Collection

from numa_exporter.formats import number
from numa_exporter.formats.parse_error import ParseError


def parse(data: bytes, path: str, possible: Collection[int]) -> dict[int, int]:
    """Nanoseconds by CPU; ``possible`` is /sys/devices/system/cpu/possible."""
    line = data.strip()
    words = line.split()
    if len(words) != len(possible):
        raise ParseError(path, 1, line, f"{len(possible)} numbers, one for each possible CPU")
    return {cpu: number.count(word, path, 1, line) for cpu, word in zip(sorted(possible), words, strict=True)}
