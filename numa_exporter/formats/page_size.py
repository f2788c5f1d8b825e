"""Huge page sizes: three spellings of one number, all as bytes.

::

    hugepages-2048kB    hugepages-1048576kB     /sys/devices/system/node/nodeN/hugepages/, mm/hugetlb_sysfs.c
    2MB  1GB  64KB  16GB                        hugetlb.<size>.numa_stat, mm/hugetlb_cgroup.c:mem_fmt
    hugepages-2Mi   hugepages-1Gi               kubelet memory types and Kubernetes resource names

Every function returns None for a name of another form: they are asked about directory entries.
"""

import re

_SYSFS = re.compile(r"hugepages-([0-9]{1,18})kB")
_CGROUP = re.compile(r"([0-9]{1,18})([KMG])B")
_KUBERNETES = re.compile(r"hugepages-([0-9]{1,18})([KMG])i")
_SHIFT = {"K": 10, "M": 20, "G": 30}


def from_sysfs(name: str) -> int | None:
    """Bytes of ``hugepages-2048kB``."""
    match = _SYSFS.fullmatch(name)
    return int(match[1]) << 10 if match else None


def from_cgroup(size: str) -> int | None:
    """Bytes of ``2MB``, the middle of ``hugetlb.2MB.numa_stat``."""
    return _binary(_CGROUP.fullmatch(size))


def from_kubernetes(name: str) -> int | None:
    """Bytes of ``hugepages-2Mi``."""
    return _binary(_KUBERNETES.fullmatch(name))


def to_kubernetes(size: int) -> str:
    """``2097152`` as ``2Mi``: the spelling of resource names, without their ``hugepages-``."""
    for unit in "GMK":
        if size >= 1 << _SHIFT[unit] and size % (1 << _SHIFT[unit]) == 0:
            return f"{size >> _SHIFT[unit]}{unit}i"
    return str(size)


def _binary(match: re.Match[str] | None) -> int | None:
    return int(match[1]) << _SHIFT[match[2]] if match else None
