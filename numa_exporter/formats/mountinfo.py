r"""/proc/PID/mountinfo.

Documentation/filesystems/proc.rst section 3.5; fs/proc_namespace.c:show_mountinfo::

    36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/sda1 rw,errors=continue
    25 24 0:23 / /dev/shm rw,relatime - tmpfs tmpfs rw,size=24684092k
    31 23 0:27 /../../.. /sys/fs/cgroup ro,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate
    41 30 0:35 / /mnt/a\040b rw shared:2 propagate_from:5 - fuse.sshfs host:/ rw

Any number of optional fields (shared:N, master:N …) stand before the ``-``. Blanks, tabs, newlines and
backslashes are octal escapes. Device numbers are decimal here (hexadecimal in maps).
"""

import re
from dataclasses import dataclass

from numa_exporter.formats.parse_error import ParseError

_ESCAPE = re.compile(rb"\\([0-7]{3})")
_LINE = re.compile(
    rb"(?P<id>[0-9]{1,18}) (?P<parent>[0-9]{1,18}) (?P<major>[0-9]{1,9}):(?P<minor>[0-9]{1,9})"
    rb" (?P<root>[^ ]+) (?P<point>[^ ]+) (?P<options>[^ ]+)(?P<optional>(?: [^ ]+)*?)"
    rb" - (?P<fstype>[^ ]+) (?P<source>[^ ]*) (?P<super>[^ ]+)"
)

Device = tuple[int, int]
"""(major, minor)"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """One mount. Strings are unescaped and can hold surrogates (os.fsdecode)."""

    mount_id: int
    parent_id: int
    device: Device
    root: str
    mount_point: str
    options: tuple[str, ...]
    optional: tuple[str, ...]
    fstype: str
    source: str
    super_options: tuple[str, ...]


def parse(data: bytes, path: str) -> tuple[Mount, ...]:
    """The mounts in the file's order (a later one can hide an earlier one); raises ParseError."""
    mounts = []
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line:
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            raise ParseError(path, number, line, "ID PARENT MAJ:MIN ROOT POINT OPTIONS … - TYPE SOURCE OPTIONS")
        mounts.append(_mount(match))
    return tuple(mounts)


def _mount(match: re.Match[bytes]) -> Mount:
    return Mount(
        mount_id=int(match["id"]),
        parent_id=int(match["parent"]),
        device=(int(match["major"]), int(match["minor"])),
        root=_text(match["root"]),
        mount_point=_text(match["point"]),
        options=tuple(_text(match["options"]).split(",")),
        optional=tuple(_text(match["optional"]).split()),
        fstype=_text(match["fstype"]),
        source=_text(match["source"]),
        super_options=tuple(_text(match["super"]).split(",")),
    )


def _text(field: bytes) -> str:
    return _ESCAPE.sub(lambda escape: bytes([int(escape[1], 8) & 0xFF]), field).decode("utf-8", "surrogateescape")
