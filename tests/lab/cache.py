"""Run in the guest: a node full of page cache, as it is after weights were read from files."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from tests.lab.topology import ids

NODES = Path("/sys/devices/system/node")
LEFT_KIB = 48 << 10
"""Free memory to leave; the kernel starts to take pages back further below."""


def fill(node: int) -> None:
    """Reads files on the node's CPUs: page cache goes where the reader runs."""
    folder = NODES / f"node{node}"
    mask = os.sched_getaffinity(0)
    os.sched_setaffinity(0, ids((folder / "cpulist").read_text().strip()))
    for path in _files(Path("/usr")):
        if _free_kib(folder) <= LEFT_KIB:
            break
        path.read_bytes()
    else:
        raise RuntimeError("/usr has too few files to fill a node with")
    os.sched_setaffinity(0, mask)


def _files(root: Path) -> Iterator[Path]:
    for folder, _, names in os.walk(root):
        yield from (path for name in names if (path := Path(folder, name)).is_file() and not path.is_symlink())


def _free_kib(folder: Path) -> int:
    return int(re.findall(r"MemFree:\s+(\d+)", (folder / "meminfo").read_text())[0])
