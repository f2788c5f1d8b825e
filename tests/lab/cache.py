"""Run in the guest: a node full of page cache, as it is after weights were read from files."""

import os
import re
from pathlib import Path

from tests.lab.topology import ids

NODES = Path("/sys/devices/system/node")
LEFT_KIB = 48 << 10
"""Free memory to leave; the kernel starts to take pages back further below."""
BLOCK = 4 << 20


def fill(node: int) -> None:
    """Reads a large file on the node's CPUs: page cache goes where the reader runs."""
    folder = NODES / f"node{node}"
    mask = os.sched_getaffinity(0)
    os.sched_setaffinity(0, ids((folder / "cpulist").read_text().strip()))
    with open(os.environ["LAB_WEIGHTS"], "rb", buffering=0) as weights:
        while _free_kib(folder) > LEFT_KIB:
            if not weights.read(BLOCK):
                raise RuntimeError(f"{weights.name} is too small to fill node {node}")
    os.sched_setaffinity(0, mask)


def _free_kib(folder: Path) -> int:
    return int(re.findall(r"MemFree:\s+(\d+)", (folder / "meminfo").read_text())[0])
