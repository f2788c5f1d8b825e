"""Run in the guest: the kernel's own answers about a process, by ways that the exporter does not take."""

import ctypes
import os
import re
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

MOVE_PAGES = 279  # x86-64


def numastat(pid: int) -> dict[str, dict[str, float]]:
    """`numastat -p`: row (Huge, Heap, Stack, Private, Total) to node to MiB, two decimals; it sums numa_maps."""
    wide = os.environ | {"NUMASTAT_WIDTH": "1000"}
    text = subprocess.run(["numastat", "-p", str(pid)], check=True, capture_output=True, text=True, env=wide).stdout
    nodes = re.findall(r"Node (\d+)", text)
    rows = (line.split() for line in text.splitlines())
    known = [row for row in rows if row and row[0] in ("Huge", "Heap", "Stack", "Private", "Total")]
    # the last column is the sum over the nodes
    return {row[0]: dict(zip(nodes, map(float, row[1:-1]), strict=True)) for row in known}


def pages(pid: int, address: int, length: int) -> dict[str, int]:
    """Where each 4 KiB page of a region lies, by move_pages(2) in query mode: node, or negative errno, to count."""
    count = length // 4096
    addresses = (ctypes.c_void_p * count)(*range(address, address + length, 4096))
    status = (ctypes.c_int * count)()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(MOVE_PAGES, pid, ctypes.c_ulong(count), addresses, None, status, 0):
        raise OSError(ctypes.get_errno(), f"move_pages({pid})")
    return {str(node): number for node, number in sorted(Counter(status).items())}


def affinities(pid: int) -> dict[str, list[int]]:
    """Thread to the CPUs that sched_getaffinity(2) names."""
    threads = os.listdir(f"/proc/{pid}/task")
    return {thread: sorted(os.sched_getaffinity(int(thread))) for thread in threads}


def policies(pid: int) -> list[str]:
    """The words for memory policy in numa_maps."""
    text = Path(f"/proc/{pid}/numa_maps").read_text()
    return sorted(set(re.findall(r"(?m)^[0-9a-f]+ ((?:prefer \(many\)|weighted interleave|\S+)\S*)", text)))


def charged(cgroup: Path) -> dict[str, dict[str, int]]:
    """memory.numa_stat: type to node to bytes (v2) or pages (v1), as written."""
    text = (cgroup / "memory.numa_stat").read_text()
    return {
        re.split("[ =]", line)[0]: {node: int(value) for node, value in re.findall(r" N(\d+)=(\d+)", line)}
        for line in text.splitlines()
    }


def of_process(pid: int, regions: Sequence[tuple[str, int, int]]) -> dict[str, Any]:
    found = [(backing, pages(pid, address, length)) for backing, address, length in regions]
    status = Path(f"/proc/{pid}/status").read_text()
    return {
        "numastat": numastat(pid),
        "pages": found,
        "affinities": affinities(pid),
        "policies": policies(pid),
        "cgroup": Path(f"/proc/{pid}/cgroup").read_text(),
        "mems_allowed": re.findall(r"Mems_allowed_list:\s*(\S*)", status)[0],
    }
