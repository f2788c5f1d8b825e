"""Run in the guest: what its kernel says about the machine, as JSON."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

NODES = Path("/sys/devices/system/node")
CPUS = Path("/sys/devices/system/cpu")
PCI = Path("/sys/bus/pci/devices")


def nodes() -> dict[str, dict[str, Any]]:
    return {
        folder.name.removeprefix("node"): {
            "cpus": _text(folder / "cpulist"),
            "distances": [int(number) for number in _text(folder / "distance").split()],
            "memory_kib": int(_text(folder / "meminfo").split()[3]),
            "initiators": sorted(path.name for path in folder.glob("access0/initiators/node*")),
        }
        for folder in NODES.glob("node[0-9]*")
    }


def packages() -> dict[str, list[int]]:
    """Socket to CPUs."""
    found: dict[str, list[int]] = {}
    for cpu in sorted(int(path.name.removeprefix("cpu")) for path in CPUS.glob("cpu[0-9]*")):
        package = _text(CPUS / f"cpu{cpu}" / "topology" / "physical_package_id")
        found.setdefault(package, []).append(cpu)
    return found


def pci() -> dict[str, dict[str, Any]]:
    return {
        device.name: {
            **{name: _text(device / name) for name in ("vendor", "device", "class", "local_cpulist")},
            "numa_node": int(_text(device / "numa_node")),
            "driver": os.path.basename(os.readlink(device / "driver")) if (device / "driver").exists() else None,
            "path": os.path.realpath(device).removeprefix("/sys/devices/"),
        }
        for device in PCI.iterdir()
    }


def facts() -> dict[str, Any]:
    masks = ("online", "has_cpu", "has_memory", "has_normal_memory")
    mounts = [line.split() for line in _text(Path("/proc/mounts")).splitlines()]
    hardware = subprocess.run(["numactl", "--hardware"], check=True, capture_output=True, text=True)
    return {
        "kernel": os.uname().release,
        "nodes": nodes(),
        "masks": {name: _text(NODES / name) for name in masks},
        "packages": packages(),
        "pci": pci(),
        "cgroup": {mount[1]: mount[2] for mount in mounts if mount[2] in ("cgroup", "cgroup2")},
        "numactl": hardware.stdout,
        "devices": sorted(path.name for pattern in ("nvidia*", "dri/*") for path in Path("/dev").glob(pattern)),
        "nvidia": {
            path.parent.name: path.read_text() for path in Path("/proc/driver/nvidia").glob("gpus/*/information")
        },
    }


def _text(path: Path) -> str:
    return path.read_text().strip()


if __name__ == "__main__":
    print(json.dumps(facts()))
