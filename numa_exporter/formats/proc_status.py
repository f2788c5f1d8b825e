"""/proc/PID/status, the fields that placement needs.

Documentation/filesystems/proc.rst, table 1-2; fs/proc/array.c:proc_pid_status::

    Name:	python3
    Uid:	1000	1000	1000	1000
    NSpid:	4242	17
    VmRSS:	   13924 kB
    HugetlbPages:	       0 kB
    Cpus_allowed_list:	0-15,32-47

``kB`` is 1024 bytes and leaves as bytes. Kernel threads and zombies have no ``Vm*`` lines; RssAnon and its
sisters came with 4.5, NSpid with 4.1. VmPin counts RDMA-like pins and VmLck mlock and VFIO: neither is a
measure of CUDA's pinned memory (the NVIDIA driver accounts in neither).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from numa_exporter.formats import idlist, number
from numa_exporter.formats.parse_error import ParseError


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """None where the kernel prints no such line. ``namespace_pids`` runs from the reader's namespace inwards."""

    name: bytes
    uid: int | None
    namespace_pids: tuple[int, ...] | None
    threads: int | None
    resident_bytes: int | None
    resident_anon_bytes: int | None
    resident_file_bytes: int | None
    resident_shmem_bytes: int | None
    hugetlb_bytes: int | None
    pinned_bytes: int | None
    locked_bytes: int | None
    cpus_allowed: frozenset[int] | None
    mems_allowed: frozenset[int] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fields:
    """``key -> (line number, value)``, with the readings that a value can have."""

    path: str
    values: Mapping[bytes, tuple[int, bytes]]

    def numbers(self, key: bytes) -> tuple[int, ...] | None:
        at, value = self.values.get(key, (0, None))
        if value is None:
            return None
        words = value.split()
        if not words or not all(map(number.countable, words)):
            raise ParseError(self.path, at, key + b":" + value, "non-negative numbers")
        return tuple(map(int, words))

    def first(self, key: bytes) -> int | None:
        numbers = self.numbers(key)
        return None if numbers is None else numbers[0]

    def size(self, key: bytes) -> int | None:
        at, value = self.values.get(key, (0, None))
        if value is None:
            return None
        words = value.split()
        if len(words) != 2 or not number.countable(words[0]) or words[1] != b"kB":
            raise ParseError(self.path, at, key + b":" + value, "a size such as '13924 kB'")
        return int(words[0]) * 1024

    def ids(self, key: bytes) -> frozenset[int] | None:
        at, value = self.values.get(key, (0, None))
        return None if value is None else idlist.parse(value, self.path, at)


def parse(data: bytes, path: str) -> Status:
    """Raises ParseError for a line without a colon, a broken value of a field we read, or a file without Name."""
    values: dict[bytes, tuple[int, bytes]] = {}
    for at, line in enumerate(data.split(b"\n"), 1):
        key, colon, value = line.partition(b":")
        if colon:
            values[key] = (at, value)
        elif line:
            raise ParseError(path, at, line, "'Key: value'")
    if b"Name" not in values:
        raise ParseError(path, 0, b"", "a line 'Name:'")
    fields = _Fields(path=path, values=values)
    return Status(
        name=_unescape(values[b"Name"][1].removeprefix(b"\t")),
        uid=fields.first(b"Uid"),
        namespace_pids=fields.numbers(b"NSpid"),
        threads=fields.first(b"Threads"),
        resident_bytes=fields.size(b"VmRSS"),
        resident_anon_bytes=fields.size(b"RssAnon"),
        resident_file_bytes=fields.size(b"RssFile"),
        resident_shmem_bytes=fields.size(b"RssShmem"),
        hugetlb_bytes=fields.size(b"HugetlbPages"),
        pinned_bytes=fields.size(b"VmPin"),
        locked_bytes=fields.size(b"VmLck"),
        cpus_allowed=fields.ids(b"Cpus_allowed_list"),
        mems_allowed=fields.ids(b"Mems_allowed_list"),
    )


def _unescape(name: bytes) -> bytes:
    """proc_task_name() escapes newline and backslash, so that a name cannot forge a line."""
    return b"\\".join(part.replace(b"\\n", b"\n") for part in name.split(b"\\\\"))
