"""A cgroup of our own in every v1 hierarchy: a kubelet at home below it meets no other and leaves nothing behind.

Run as `python -m tests.kubernetes.e2e.cgroups NAME COMMAND...` it keeps the cgroups NAME for as long as the command
runs in them, and removes them also where whoever started it is no more.
"""

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from numa_exporter.formats import mountinfo, proc_cgroup

INHERITED = ("cpuset.cpus", "cpuset.mems")  # empty in a new v1 cgroup, and no task may join until they are set


def keeper(name: str) -> list[str]:
    """The start of the command line of something that runs in cgroups of its own."""
    return [sys.executable, "-m", "tests.kubernetes.e2e.cgroups", name]


def main() -> None:
    name, *command = sys.argv[1:]
    folders = create(name)
    try:
        child = os.fork()
        if child == 0:
            for folder in folders:
                (folder / "cgroup.procs").write_text("0")  # the writer
            os.execvp(command[0], command)
        os.waitpid(child, 0)
    finally:
        remove(folders)


def controllers() -> set[str]:
    """The v1 controllers that are mounted here; Kubernetes 1.20 wants those."""
    return {name for mount in _mounts() for name in mount.super_options}


def create(name: str) -> list[Path]:
    """Makes the cgroup `name` below this process's own in every v1 hierarchy."""
    folders = [parent / name for parent in _own()]
    for folder in folders:
        folder.mkdir()
        for file in INHERITED:
            if (folder / file).exists():
                (folder / file).write_text((folder.parent / file).read_text())
    return folders


def remove(folders: list[Path]) -> None:
    """Removes the cgroups with all below them; their last processes may still be on their way out."""
    deadline = time.monotonic() + 20
    while True:
        busy = [error for folder in folders for error in _remove(folder)]
        if not busy:
            return
        if time.monotonic() > deadline:
            raise busy[0]
        time.sleep(0.1)


def _remove(top: Path) -> Iterator[OSError]:
    for folder, _, _ in os.walk(top, topdown=False):
        try:
            os.rmdir(folder)
        except FileNotFoundError:
            pass
        except OSError as error:
            yield error


def _own() -> Iterator[Path]:
    memberships = proc_cgroup.parse(Path("/proc/self/cgroup").read_bytes(), "/proc/self/cgroup")
    for mount in _mounts():
        for membership in memberships:
            if not set(mount.super_options).isdisjoint(membership.controllers):
                yield Path(mount.mount_point, os.path.relpath(membership.path, mount.root))


def _mounts() -> list[mountinfo.Mount]:
    mounts = mountinfo.parse(Path("/proc/self/mountinfo").read_bytes(), "/proc/self/mountinfo")
    return [mount for mount in mounts if mount.fstype == "cgroup"]


if __name__ == "__main__":
    main()
