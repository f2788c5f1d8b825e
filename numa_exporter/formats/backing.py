"""What stands behind a mapping: one of six backings.

mm/shmem.c, mm/memfd.c, ipc/shm.c, fs/hugetlbfs/inode.c, drivers/char/mem.c; names as maps and numa_maps show
them, unescaped::

    (no name), [heap], [stack]      anon            /dev/zero (deleted)        shmem_anon: MAP_SHARED|MAP_ANONYMOUS
    /usr/lib/libc.so.6              file            /memfd:psm_vllm (deleted)  shmem
    /dev/shm/nccl-x4Jd              shmem (tmpfs)   /SYSV00005a5a (deleted)    shmem
    /dev/nvidia0, /dev/nvidiactl    driver          /anon_hugepage (deleted)   hugetlb

No units. The kernel's own tmpfs behind memfd, SysV and shared anonymous memory is in no mountinfo: those three
go by name. All else named in tmpfs goes by the mapping's device, for a tmpfs can be mounted anywhere.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from numa_exporter.formats.mountinfo import Device, Mount

Backing = Literal["anon", "file", "shmem_anon", "shmem", "hugetlb", "driver"]

_KERNEL_SHMEM = re.compile(rb"/memfd:|/SYSV[0-9a-f]{8}")
_DRIVER = re.compile(rb"/dev/(?:nvidia|kfd\b|dri/)")


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryDevices:
    """Device numbers of the file systems that are memory.

    The kernel's own hugetlbfs, behind memfd and SysV segments of huge pages, is in no mountinfo. Whoever reads
    maps, which has no ``huge`` word, may add its device numbers: those of /anon_hugepage mappings.
    """

    tmpfs: frozenset[Device] = frozenset()
    hugetlbfs: frozenset[Device] = frozenset()


NO_DEVICES = MemoryDevices()


def memory_devices(mounts: Iterable[Mount]) -> MemoryDevices:
    """The memory file systems of a mount namespace: best of the process's own, a container has its own /dev/shm."""
    by_type = [(mount.fstype, mount.device) for mount in mounts]
    return MemoryDevices(
        tmpfs=frozenset(device for fstype, device in by_type if fstype == "tmpfs"),
        hugetlbfs=frozenset(device for fstype, device in by_type if fstype == "hugetlbfs"),
    )


def backing_of(
    file: bytes | None,
    *,
    huge: bool = False,
    device: Device | None = None,
    devices: MemoryDevices = NO_DEVICES,
) -> Backing:
    """The backing of one mapping. ``huge`` is the word of numa_maps, ``device`` that of maps; either may be unknown.

    A private mapping of a file is ``file`` although its written pages are anonymous; one of /dev/zero is anonymous.
    """
    if huge or device in devices.hugetlbfs or (file is not None and file.startswith(b"/anon_hugepage")):
        return "hugetlb"
    if file is None or file == b"/dev/zero":
        return "anon"
    if file == b"/dev/zero (deleted)" or file.startswith(b"[anon_shmem:"):
        return "shmem_anon"
    if file.startswith(b"["):
        return "anon"
    if _DRIVER.match(file):
        return "driver"
    if device in devices.tmpfs or _KERNEL_SHMEM.match(file):
        return "shmem"
    # Without maps there is no device: /dev/shm is tmpfs by convention.
    return "shmem" if device is None and file.startswith(b"/dev/shm/") else "file"
