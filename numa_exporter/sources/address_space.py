"""What a process maps: /proc/PID/maps, and which of the devices in it are memory."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from numa_exporter.formats import maps, mountinfo
from numa_exporter.formats.backing import Backing, MemoryDevices, memory_devices
from numa_exporter.sources.host import READ_LIMIT, Host, HostError

_MEMORY = re.compile(rb"^.* - (?:tmpfs|hugetlbfs) .*$", re.MULTILINE)
"""Hundreds of other mounts are common in a container, and a look is over in milliseconds."""
BLOCK = 4096
"""One page of seq_file output a read: the lock is given back after some 40 mappings."""


@dataclass(frozen=True, kw_only=True)
class AddressSpace:
    """The text of maps at one moment. Empty for a kernel thread, a zombie, and a process on its way out."""

    path: str
    text: bytes
    devices: MemoryDevices

    @cached_property
    def first(self) -> maps.MapsLine | None:
        """The lowest mapping."""
        return next(maps.parse(self.text[: self.text.find(b"\n") + 1], self.path), None)

    @property
    def mappings(self) -> int:
        return self.text.count(b"\n")

    def spans(self) -> Mapping[Backing, list[tuple[int, int]]]:
        """[start, end) in bytes by backing."""
        return maps.spans(self.text, self.path, self.devices)


def read(host: Host, pid: int) -> AddressSpace:
    """The mappings of one process. Raises HostError and ParseError."""
    path = f"/proc/{pid}/mountinfo"
    mounts = memory_devices(mountinfo.parse(b"\n".join(_MEMORY.findall(host.read(path))), path))
    devices = replace(mounts, hugetlbfs=mounts.hugetlbfs | frozenset(host.hugetlbfs_devices()))
    path = f"/proc/{pid}/maps"
    return AddressSpace(path=path, text=_whole(host.stream(path, BLOCK), path), devices=devices)


def _whole(blocks: Iterable[bytes], path: str) -> bytes:
    """No longer than any other file: a process may have as many mappings as vm.max_map_count lets it."""
    parts: list[bytes] = []
    size = 0
    for block in blocks:
        size += len(block)
        if size > READ_LIMIT:
            raise HostError("garbled", path, f"longer than {READ_LIMIT} bytes")
        parts.append(block)
    return b"".join(parts)
