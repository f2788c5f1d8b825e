"""cpuset files of both cgroup versions.

Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/cpusets.rst, kernel/cgroup/cpuset.c::

    0-15,32-47                                  cpuset.cpus.effective (v2), cpuset.effective_cpus (v1)
    0-1                                         cpuset.mems.effective, cpuset.effective_mems
                                                cpuset.cpus of v2, empty: the parent's
    isolated                                    cpuset.cpus.partition
    root invalid (Parent is not a partition root)

CPU and node ids. Read the effective files: a request that is disjoint from the parent's set falls back to it,
and a request keeps CPUs that are offline.
"""

import re
from dataclasses import dataclass

from numa_exporter.formats import idlist
from numa_exporter.formats.parse_error import ParseError

_PARTITION = re.compile(rb"(member|root|isolated)(?:( invalid)(?: \((.*)\))?)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """``word`` is member, root or isolated; an invalid partition acts as a member, for ``reason`` if it is told."""

    word: str
    valid: bool
    reason: str | None


def parse_effective(data: bytes, path: str) -> frozenset[int]:
    """The ids that the cgroup's tasks may use now."""
    return idlist.parse(data, path)


def parse_requested(data: bytes, path: str) -> frozenset[int] | None:
    """cpuset.cpus or cpuset.mems of v2; None where nothing is asked for and the parent's set is inherited."""
    return idlist.parse(data, path) or None


def parse_partition(data: bytes, path: str) -> Partition:
    """cpuset.cpus.partition of v2."""
    match = _PARTITION.fullmatch(data.strip())
    if match is None:
        raise ParseError(path, 1, data.strip(), "member, root or isolated, perhaps 'invalid (REASON)'")
    reason = match[3].decode("utf-8", "backslashreplace") if match[3] else None
    return Partition(word=match[1].decode("ascii"), valid=match[2] is None, reason=reason)
