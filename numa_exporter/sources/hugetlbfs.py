"""The kernel's own hugetlbfs mounts, one for each huge page size (fs/hugetlbfs/inode.c:init_hugetlbfs_fs).

MAP_HUGETLB, memfd and SysV segments of huge pages live there, and no mountinfo names them. An empty memfd of each size
tells the device; it takes no huge page.
"""

import contextlib
import os

from numa_exporter.formats import page_size

_SIZES = "/sys/kernel/mm/hugepages"


def own_devices() -> list[tuple[int, int]]:
    """(major, minor) of each; none where the kernel has no hugetlbfs, or refuses memfd (seccomp)."""
    found = []
    for name in sorted(os.listdir(_SIZES)) if os.path.isdir(_SIZES) else ():
        size = page_size.from_sysfs(name)
        if size is None:
            continue
        flags = os.MFD_CLOEXEC | os.MFD_HUGETLB | (size.bit_length() - 1) << os.MFD_HUGE_SHIFT
        with contextlib.suppress(OSError):
            descriptor = os.memfd_create("numa-exporter", flags)
            try:
                device = os.fstat(descriptor).st_dev
            finally:
                os.close(descriptor)
            found.append((os.major(device), os.minor(device)))
    return found
