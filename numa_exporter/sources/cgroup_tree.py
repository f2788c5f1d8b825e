"""Where cgroup paths lie: hierarchies and mount points, also from inside a private cgroup namespace.

/proc/PID/cgroup prints paths relative to the *reader's* cgroup namespace. In a private one the reader itself is "/",
another container "/../../other", and the hierarchy mounted from the host has the root "/../../.." in mountinfo. The
names above the reader are nowhere in these texts: they are found once, by the cgroup.procs that holds our own PID.
Which version a controller has follows from mountinfo, never from /proc/cgroups, which lists controllers that cannot
be mounted.
"""

import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from numa_exporter.formats import mountinfo, proc_cgroup, task_stat
from numa_exporter.formats.mountinfo import Mount
from numa_exporter.formats.proc_cgroup import Membership
from numa_exporter.sources.host import Host, HostError

Layout = Literal["v1", "v2", "hybrid", "none"]
SEARCH_LIMIT = 20_000
"""Directories looked at for our own PID; a node with more cgroups than this has another problem."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hierarchy:
    """One mounted hierarchy. ``controllers`` is empty for v2; ``root`` is the mount's root as mountinfo has it."""

    version: Literal[1, 2]
    controllers: frozenset[str]
    mount_point: str
    root: str

    def holds(self, membership: Membership) -> bool:
        """Whether a line of /proc/PID/cgroup speaks of this hierarchy."""
        if self.version == 2:
            return membership.hierarchy == 0 and not membership.controllers
        return not self.controllers.isdisjoint(membership.controllers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Located:
    """A line of /proc/PID/cgroup. ``hierarchy`` is None where the path could not be told in full."""

    membership: Membership
    hierarchy: Hierarchy | None


class CgroupTree:
    """The mounted hierarchies, and what paths of this reader's namespace are in them."""

    def __init__(self, hierarchies: Sequence[Hierarchy]) -> None:
        self.hierarchies = tuple(hierarchies)
        self._own: dict[Hierarchy, str | None] = {}

    @property
    def layout(self) -> Layout:
        unified = any(hierarchy.version == 2 for hierarchy in self.hierarchies)
        legacy = any(not name.startswith("name=") for hierarchy in self.hierarchies for name in hierarchy.controllers)
        if unified:
            return "hybrid" if legacy else "v2"
        return "v1" if legacy else "none"

    def controller(self, name: str) -> Hierarchy | None:
        """The hierarchy that serves a controller: the v1 one that names it, else v2."""
        legacy = next((found for found in self.hierarchies if name in found.controllers), None)
        return legacy or next((found for found in self.hierarchies if found.version == 2), None)

    def locate(self, host: Host, memberships: Sequence[Membership]) -> tuple["Located", ...]:
        """The lines with paths as the host names them, as far as those can be told."""
        located = []
        for membership in memberships:
            hierarchy = next((found for found in self.hierarchies if found.holds(membership)), None)
            path = None if hierarchy is None else self.absolute(host, hierarchy, membership.path)
            line = membership if path is None else replace(membership, path=path)
            located.append(Located(membership=line, hierarchy=hierarchy if path is not None else None))
        return tuple(located)

    def absolute(self, host: Host, hierarchy: Hierarchy, path: str) -> str | None:
        """A path of our namespace as the host names it; None where that cannot be told."""
        root = hierarchy.root
        if not _climbs(root):
            return None if _climbs(path) else path
        levels, climbs = _levels(root), _levels_up(path)
        if levels is None or climbs > levels:
            return None
        if climbs == levels:  # up to the mount's root itself: nothing above us need be known
            return posixpath.normpath("/" + path.lstrip("/")[3 * levels :])
        own = self._namespace_root(host, hierarchy)
        return None if own is None else posixpath.normpath(own + path)

    def _namespace_root(self, host: Host, hierarchy: Hierarchy) -> str | None:
        """Our cgroup namespace's root as a path below the mount."""
        if hierarchy not in self._own:
            self._own[hierarchy] = _find_namespace_root(host, hierarchy)
        return self._own[hierarchy]


def directory(hierarchy: Hierarchy, path: str) -> str | None:
    """The directory of an absolute path; None where the mount does not show it."""
    below = path if _climbs(hierarchy.root) else _relative(path, hierarchy.root)
    if below is None:
        return None
    return hierarchy.mount_point if below == "/" else hierarchy.mount_point.rstrip("/") + below


def read_mounts(host: Host) -> tuple[Mount, ...]:
    """The mounts as the host's init sees them, for paths are logical: in a container with the host's trees mounted
    elsewhere our own table would name other places. Without the right to see init, our own; no mounts without any."""
    for path in ("/proc/1/mountinfo", "/proc/self/mountinfo"):
        try:
            return mountinfo.parse(host.read(path), path)
        except HostError:
            continue
    return ()


def refreshed(host: Host, tree: CgroupTree) -> CgroupTree:
    """The tree of now: the same one, with what it knows of our own place, while the mounts are the same."""
    now = tree_of(read_mounts(host))
    return tree if now.hierarchies == tree.hierarchies else now


def tree_of(mounts: Sequence[Mount]) -> CgroupTree:
    """The cgroup hierarchies among the mounts, the first mount of each."""
    found: dict[tuple[int, frozenset[str]], Hierarchy] = {}
    for mount in mounts:
        if mount.fstype not in ("cgroup", "cgroup2"):
            continue
        version: Literal[1, 2] = 2 if mount.fstype == "cgroup2" else 1
        names = frozenset() if version == 2 else frozenset(mount.super_options) - {"rw", "ro", "xattr"}
        hierarchy = Hierarchy(version=version, controllers=names, mount_point=mount.mount_point, root=mount.root)
        found.setdefault((version, names), hierarchy)
    return CgroupTree(tuple(found.values()))


def _climbs(path: str) -> bool:
    return path == "/.." or path.startswith("/../")


def _levels(root: str) -> int | None:
    """How many levels a root of nothing but ``..`` climbs; None where it descends again (a bind mount)."""
    parts = root.strip("/").split("/")
    return len(parts) if all(part == ".." for part in parts) else None


def _levels_up(path: str) -> int:
    parts = path.strip("/").split("/")
    return next((at for at, part in enumerate(parts) if part != ".."), len(parts))


def _relative(path: str, root: str) -> str | None:
    """``path`` below ``root``: a container's v1 mounts have the container's own cgroup as root."""
    if root == "/":
        return path
    if path == root:
        return "/"
    return path[len(root) :] if path.startswith(root + "/") else None


def _find_namespace_root(host: Host, hierarchy: Hierarchy) -> str | None:
    memberships = proc_cgroup.parse(host.read("/proc/self/cgroup"), "/proc/self/cgroup")
    mine = next((membership.path for membership in memberships if hierarchy.holds(membership)), None)
    pid = task_stat.parse(host.read("/proc/self/stat"), "/proc/self/stat").pid
    directory = _directory_of(host, hierarchy.mount_point, pid)
    if mine is None or directory is None or _climbs(mine):
        return None
    own = directory[len(hierarchy.mount_point.rstrip("/")) :] or "/"
    return own.removesuffix(mine) if mine != "/" else own.rstrip("/")


def _directory_of(host: Host, top: str, pid: int) -> str | None:
    """The directory below ``top`` whose cgroup.procs holds ``pid``, nearest to the top first."""
    for directory in _directories(host, top):
        try:
            processes = host.read(f"{directory}/cgroup.procs").split()
        except HostError:
            continue  # a threaded cgroup (EOPNOTSUPP) or one that went away: not where we are
        if str(pid).encode() in processes:
            return directory
    return None


def _directories(host: Host, top: str) -> Iterator[str]:
    queue = [top]
    for directory in queue:  # grows while it is walked
        if len(queue) > SEARCH_LIMIT:
            return
        yield directory
        try:
            names = host.list(directory)
        except HostError:
            continue
        # Control files have a dot after their controller's name; so may a cgroup: those fail to list, at no harm.
        queue.extend(f"{directory}/{name}" for name in names if not _control_file(name))


def _control_file(name: str) -> bool:
    prefix, dot, _ = name.partition(".")
    known = ("cgroup", "cpu", "cpuacct", "cpuset", "memory", "hugetlb", "io", "blkio", "pids", "rdma", "misc", "dmem")
    return name in ("tasks", "notify_on_release", "release_agent") or (bool(dot) and prefix in known)
