"""/proc/PID/cgroup: where a process sits in each hierarchy.

cgroups(7), Documentation/admin-guide/cgroup-v2.rst; kernel/cgroup/cgroup.c:proc_cgroup_show::

    0::/kubepods.slice/kubepods-pod7922aa99_d4aa_4885_a953_82976860b23a.slice/crio-1c33….scope
    9:name=systemd:/system.slice/vllm.service
    3:cpu,cpuacct:/docker/2a4f870e24a3…
    0::/../../../other                                      seen from another cgroup namespace
    0::/system.slice/gone.service (deleted)

No units. Paths are relative to the reader's cgroup namespace. They may contain colons, not newlines.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from numa_exporter.formats.parse_error import ParseError

_LINE = re.compile(rb"([0-9]{1,9}):([^:]*):(/.*|)", re.DOTALL)
_DELETED = " (deleted)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """One line. Hierarchy 0 without controllers is cgroup v2. ``path`` can hold surrogates (os.fsdecode)."""

    hierarchy: int
    controllers: tuple[str, ...]
    path: str
    deleted: bool = False


def parse(data: bytes, path: str) -> tuple[Membership, ...]:
    """The lines in the file's order.

    A line of another form is passed over as long as one line can be read: any one of them says where the
    process is. ParseError if none can.
    """
    lines = [line for line in data.split(b"\n") if line]
    memberships = tuple(map(_membership, filter(None, map(_LINE.fullmatch, lines))))
    if lines and not memberships:
        raise ParseError(path, 1, lines[0], "HIERARCHY:CONTROLLERS:PATH")
    return memberships


def _membership(match: re.Match[bytes]) -> Membership:
    hierarchy, controllers, path = (part.decode("utf-8", "surrogateescape") for part in match.groups())
    return Membership(
        hierarchy=int(hierarchy),
        controllers=tuple(controllers.split(",")) if controllers else (),
        path=path.removesuffix(_DELETED),
        deleted=path.endswith(_DELETED),
    )


def path_of(memberships: Sequence[Membership], controller: str) -> tuple[int, str] | None:
    """(cgroup version, path) for a controller: the v1 line that names it, else the v2 line, else None.

    This holds for hybrid hosts too, where a controller is on one side only.
    """
    for membership in memberships:
        if controller in membership.controllers:
            return 1, membership.path
    unified = unified_path(memberships)
    return None if unified is None else (2, unified)


def unified_path(memberships: Sequence[Membership]) -> str | None:
    """The path in the v2 hierarchy, None where it is not mounted."""
    for membership in memberships:
        if membership.hierarchy == 0 and not membership.controllers:
            return membership.path
    return None
