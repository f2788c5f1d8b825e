"""A machine's files on disk: two nodes, a GPU and a NIC on the second, for a foreign tree of an agent."""

import os
from collections.abc import Mapping
from pathlib import Path

from tests.sources.machines import merged, node, pci_function

GPU = "/sys/devices/pci0000:40/0000:40:01.0/0000:41:00.0"
NIC = "/sys/devices/pci0000:40/0000:40:01.0/0000:42:00.0"
NODE1_MEMINFO = "/sys/devices/system/node/node1/meminfo"

MODES = "100 0 50 800 0 0 0 0 0 0"


def files() -> tuple[dict[str, str], dict[str, str]]:
    """Text by path, and links by path."""
    gpu, gpu_link = pci_function(GPU, numa_node="1")
    nic, nic_link = pci_function(NIC, vendor="0x15b3", **{"class": "0x020700"}, numa_node="1")
    cpus = {f"/sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id": f"{cpu // 2}\n" for cpu in range(4)}
    told = merged(
        node(0, "0-1", "10 21"),
        node(1, "2-3", "21 10"),
        cpus,
        gpu,
        nic,
        {
            "/sys/devices/system/node/online": "0-1\n",
            "/sys/devices/system/cpu/online": "0-3\n",
            "/proc/stat": f"cpu  {MODES}\n" + "".join(f"cpu{cpu} {MODES}\n" for cpu in range(4)) + "btime 1700000000\n",
            "/proc/sys/kernel/random/boot_id": "00000000-0000-4000-8000-000000000000\n",
            "/proc/sys/kernel/osrelease": "6.12.0-test\n",
            "/proc/self/stat": "7 (agent) S " + "0 " * 49 + "\n",
            "/etc/hostname": "captured\n",
        },
    )
    links = gpu_link | nic_link | {"/sys/class/infiniband/mlx5_0/device": NIC}
    return told, links


def plant(root: Path, change: Mapping[str, str] | None = None) -> Path:
    """Writes the tree below a folder; ``change`` replaces texts."""
    told, links = files()
    for path, text in (told | dict(change or {})).items():
        target = root / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    for path, to in links.items():
        link = root / path.lstrip("/")
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(os.path.relpath(root / to.lstrip("/"), link.parent))
    return root


def make_hang(root: Path, path: str) -> None:
    """Opening this file never returns from now on: a FIFO that nobody writes to."""
    target = root / path.lstrip("/")
    target.unlink()
    os.mkfifo(target)
