r"""/proc/PID/maps.

Documentation/filesystems/proc.rst section 1.1; fs/proc/task_mmu.c:show_map_vma::

    00400000-00401000 r--p 00000000 00:02 14                                 /bin/nmwork
    27185000-271d9000 rw-p 00000000 00:00 0                                  [heap]
    7ff4b3400000-7ff4b4000000 rw-p 00000000 00:00 0
    7ff4b5400000-7ff4b5800000 rw-s 00000000 00:1a 3096                       /huge/model weights.bin (deleted)
    7ff4b599c000-7ff4b5a00000 rw-s 00000000 00:01 1                          /SYSV00005a5a (deleted)

Addresses and the offset are bytes in hexadecimal; device numbers are hexadecimal too (decimal in mountinfo).
Only newlines in a name are escaped (\012). Reading costs little: no page table is walked.
"""

import re
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from numa_exporter.formats.backing import Backing, MemoryDevices, backing_of
from numa_exporter.formats.mountinfo import Device
from numa_exporter.formats.parse_error import ParseError

_LINE = re.compile(
    rb"(?P<start>[0-9a-f]{1,16})-(?P<end>[0-9a-f]{1,16}) (?P<perms>[r-][w-][x-][ps]) (?P<offset>[0-9a-f]{1,16})"
    rb" (?P<major>[0-9a-f]{1,8}):(?P<minor>[0-9a-f]{1,8}) (?P<inode>[0-9]{1,20})(?: +(?P<name>[^ \n].*)| *)"
)
_SPAN = re.compile(
    rb"^([0-9a-f]{1,16})-([0-9a-f]{1,16}) (....) [0-9a-f]{1,16} ([0-9a-f]{1,8}:[0-9a-f]{1,8}) [0-9]{1,20} *(.*)$",
    re.MULTILINE,
)
# Not anchored at the line's start: three times as fast, and no earlier field holds a colon.
_FILE = re.compile(rb" ([0-9a-f]{1,8}:[0-9a-f]{1,8}) ([0-9]{1,20}) +(/.*)$", re.MULTILINE)
_NAMED = re.compile(
    rb"^([0-9a-f]{1,16})-[0-9a-f]+ .... [0-9a-f]+ ([0-9a-f]{1,8}:[0-9a-f]{1,8}) ([0-9]{1,20}) +(/.*)$", re.MULTILINE
)
# Always private to the process, so nobody asks which of them it is.
_NAMELESS = (b"/dev/zero (deleted)", b"/anon_hugepage (deleted)")
_UNPROBED = (b"[vdso]", b"[vvar]", b"[vvar_vclock]", b"[vsyscall]", b"[uprobes]")


@dataclass(frozen=True, slots=True, kw_only=True)
class MapsLine:
    """One mapping. ``name`` is unescaped: a path, perhaps with `` (deleted)``, or a pseudo name in brackets."""

    start: int
    end: int
    perms: str
    offset: int
    device: Device
    inode: int
    name: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileId:
    """Which file a mapping maps, whatever it is called: two SysV segments of key 0 have one name."""

    device: Device
    inode: int

    def __str__(self) -> str:
        return f"{self.device[0]}:{self.device[1]}:{self.inode}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """The files of an address space, by name; where a name is several files, also by start address."""

    by_name: Mapping[bytes, FileId] = field(default_factory=dict)
    by_start: Mapping[int, FileId] = field(default_factory=dict)
    ambiguous: frozenset[bytes] = frozenset()

    def of(self, name: bytes, start: int | None) -> FileId | None:
        """The file behind a name, at an address if that is known; None if maps had no such name."""
        found = None if start is None else self.by_start.get(start)
        return found or self.by_name.get(name)


NO_FILES = Files()


class Segment(NamedTuple):
    """A mapping of shared memory, from its first byte, and the file that it maps."""

    start: int
    file: FileId


def parse_line(line: bytes, path: str, number: int) -> MapsLine:
    """One line; raises ParseError."""
    match = _LINE.fullmatch(line)
    if match is None:
        raise ParseError(path, number, line, "START-END PERMS OFFSET MAJ:MIN INODE [NAME]")
    name = match["name"]
    return MapsLine(
        start=int(match["start"], 16),
        end=int(match["end"], 16),
        perms=match["perms"].decode("ascii"),
        offset=int(match["offset"], 16),
        device=(int(match["major"], 16), int(match["minor"], 16)),
        inode=int(match["inode"]),
        name=None if name is None else unescape(name),
    )


def parse(data: bytes, path: str) -> Iterator[MapsLine]:
    """The lines one by one: a list of 60,000 would cost 18 MiB. For large files prefer ``files`` and ``spans``."""
    for number, line in enumerate(data.split(b"\n"), 1):
        if line:
            yield parse_line(line, path, number)


def unescape(name: bytes) -> bytes:
    """A name as the file system has it."""
    return name.replace(b"\\012", b"\n")


def files(data: bytes) -> Files:
    """Every named file, without an object per mapping. Lines without a path are not looked at."""
    by_name: dict[bytes, FileId] = {}
    ambiguous: set[bytes] = set()
    for device, inode, escaped in set(_FILE.findall(data)):
        name, file = unescape(escaped), FileId(device=_device(device), inode=int(inode))
        if by_name.setdefault(name, file) != file and name not in _NAMELESS:
            ambiguous.add(name)
    by_start = {}
    if ambiguous:
        lines = (line for line in parse(data, "maps") if line.name in ambiguous)
        by_start = {line.start: FileId(device=line.device, inode=line.inode) for line in lines}
    return Files(by_name=by_name, by_start=by_start, ambiguous=frozenset(ambiguous))


def spans(data: bytes, path: str, devices: MemoryDevices) -> Mapping[Backing, list[tuple[int, int]]]:
    """``[start, end)`` by backing in address order, adjacent ones merged: the frame of a page sampler.

    Left out is what has no pages to ask for: mappings without any right, and the kernel's own ([vdso] …).
    """
    rows: list[tuple[bytes, bytes, bytes, bytes, bytes]] = _SPAN.findall(data)
    if len(rows) != data.count(b"\n"):
        deque(parse(data, path), maxlen=0)  # raises ParseError at the line that is none
    found: dict[Backing, list[tuple[bytes, bytes]]] = {}
    known: dict[tuple[bytes, bytes], list[tuple[bytes, bytes]] | None] = {}
    for start, end, perms, device, name in rows:
        if perms == b"---p":
            continue
        key = device, name
        if key not in known:
            backing = _backing(device, name, devices)
            known[key] = None if backing is None else found.setdefault(backing, [])
        here = known[key]
        if here is None:
            continue
        # Equal addresses are equal text: numbers are made of merged spans only.
        if here and here[-1][1] == start:
            here[-1] = here[-1][0], end
        else:
            here.append((start, end))
    return {backing: [(int(low, 16), int(high, 16)) for low, high in texts] for backing, texts in found.items()}


def segments(data: bytes, devices: MemoryDevices) -> list[Segment]:
    """The mappings of named shared memory, in address order."""
    found = []
    for start, device, inode, name in _NAMED.findall(data):
        if _backing(device, name, devices) == "shmem":
            found.append(Segment(int(start, 16), FileId(device=_device(device), inode=int(inode))))
    return found


def _backing(device: bytes, name: bytes, devices: MemoryDevices) -> Backing | None:
    if name in _UNPROBED:
        return None
    return backing_of(unescape(name) or None, device=_device(device), devices=devices)


def _device(text: bytes) -> Device:
    major, minor = text.split(b":")
    return int(major, 16), int(minor, 16)
