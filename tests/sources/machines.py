"""Pieces of a host's files for tests of sources."""

from collections.abc import Mapping

from numa_exporter.model.sample import HostFacts, Sample

EMPTY = Sample(host=HostFacts(nodename="fake", mode="replay"), taken_at=0.0, monotonic=0.0)

NODES = "/sys/devices/system/node"
CPUS = "/sys/devices/system/cpu"


def node(number: int, cpus: str, distance: str, total_kb: int = 1024) -> dict[str, str]:
    """One NUMA node's directory."""
    folder = f"{NODES}/node{number}"
    return {
        f"{folder}/cpulist": f"{cpus}\n",
        f"{folder}/distance": f"{distance}\n",
        f"{folder}/meminfo": f"Node {number} MemTotal: {total_kb} kB\nNode {number} MemFree: {total_kb // 2} kB\n",
        f"{folder}/numastat": f"numa_hit {number + 100}\nnuma_foreign 7\n",
        f"{folder}/hugepages/hugepages-2048kB/nr_hugepages": "4\n",
        f"{folder}/hugepages/hugepages-2048kB/free_hugepages": "1\n",
    }


def pci_function(path: str, **facts: str) -> tuple[dict[str, str], dict[str, str]]:
    """Files below /sys/devices, and the link in /sys/bus/pci/devices, of a function at this real path."""
    address = path.rpartition("/")[2]
    told = {"vendor": "0x10de", "class": "0x030200", "numa_node": "0"} | facts
    files = {f"{path}/{name}": f"{value}\n" for name, value in told.items()}
    return files, {f"/sys/bus/pci/devices/{address}": path}


def merged(*parts: Mapping[str, str]) -> dict[str, str]:
    return {key: value for part in parts for key, value in part.items()}
