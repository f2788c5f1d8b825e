"""Run in the guest: the kernel's own answers about a process, by ways that the exporter does not take."""

import ctypes
import os
import re
import subprocess
from array import array
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

MOVE_PAGES = 279  # x86-64


def numastat(pids: Sequence[int]) -> dict[int, dict[str, float]]:
    """`numastat -p`: process to node to MiB, two decimals; it sums numa_maps."""
    wide = os.environ | {"NUMASTAT_WIDTH": "1000"}
    # and ourselves, for of a single process it shows another table
    command = ["numastat", "-p", *map(str, pids), str(os.getpid())]
    text = subprocess.run(command, check=True, capture_output=True, text=True, env=wide).stdout
    nodes = re.findall(r"Node (\d+)", text)
    rows = re.findall(r"(?m)^(\d+) \(.*\)((?: +[\d.]+)+)$", text)
    # the last column is the sum over the nodes
    return {int(pid): dict(zip(nodes, map(float, columns.split()[:-1]), strict=True)) for pid, columns in rows}


def pages(pid: int, address: int, length: int) -> dict[str, int]:
    """Where each 4 KiB page of a region lies, by move_pages(2) in query mode: node, or negative errno, to count."""
    addresses = array("Q", range(address, address + length, 4096))
    status = (ctypes.c_int * len(addresses))()
    where = ctypes.c_void_p(addresses.buffer_info()[0])
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(MOVE_PAGES, pid, ctypes.c_ulong(len(addresses)), where, None, status, 0):
        raise OSError(ctypes.get_errno(), f"move_pages({pid})")
    return {str(node): number for node, number in sorted(Counter(status).items())}


def affinities(pid: int) -> dict[str, list[int]]:
    """Thread to the CPUs that sched_getaffinity(2) names."""
    threads = os.listdir(f"/proc/{pid}/task")
    return {thread: sorted(os.sched_getaffinity(int(thread))) for thread in threads}


def cpu_seconds(pid: int) -> float:
    """utime + stime, in ticks of a hundredth of a second."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def policies(pid: int) -> list[str]:
    """The words for memory policy in numa_maps."""
    text = Path(f"/proc/{pid}/numa_maps").read_text()
    return sorted(set(re.findall(r"(?m)^[0-9a-f]+ ((?:prefer \(many\)|weighted interleave|\S+)\S*)", text)))


def by_node(text: str) -> dict[str, dict[str, int]]:
    """A numa_stat file of a cgroup: type to node to bytes (v2) or pages (v1), as written."""
    return {
        re.split("[ =]", line)[0]: {node: int(value) for node, value in re.findall(r" N(\d+)=(\d+)", line)}
        for line in text.splitlines()
    }


def of_process(pid: int, regions: Sequence[tuple[str, int, int]]) -> dict[str, Any]:
    found = [(backing, pages(pid, address, length)) for backing, address, length in regions]
    status = Path(f"/proc/{pid}/status").read_text()
    return {
        "pages": found,
        "affinities": affinities(pid),
        "cpu_seconds": cpu_seconds(pid),
        "policies": policies(pid),
        "cgroup": Path(f"/proc/{pid}/cgroup").read_text(),
        "mems_allowed": re.findall(r"Mems_allowed_list:\s*(\S*)", status)[0],
        "cpus_allowed": re.findall(r"Cpus_allowed_list:\s*(\S*)", status)[0],
    }


def of_cgroups(folders: Sequence[Path]) -> dict[str, Any]:
    """Of a container's directories: what it is charged, its huge pages, its cpuset, CPU time by CPU (v1)."""
    return {
        "charged": by_node(_first(folders, "memory.numa_stat") or ""),
        "hugetlb": by_node(_first(folders, "hugetlb.2MB.numa_stat") or ""),
        "cpus": _first(folders, "cpuset.cpus.effective", "cpuset.effective_cpus"),
        "mems": _first(folders, "cpuset.mems.effective", "cpuset.effective_mems"),
        "cpu_nanoseconds": [int(word) for word in (_first(folders, "cpuacct.usage_percpu") or "").split()],
    }


def _first(folders: Sequence[Path], *names: str) -> str | None:
    found = (folder / name for folder in folders for name in names)
    return next((path.read_text().strip() for path in found if path.exists()), None)
