"""Run in the guest: what NVML would say there, as records for the NVML shim (tests/nvml), from the stand-in's files."""

import re
from pathlib import Path

from tests.nvml.build import record

GPUS = Path("/proc/driver/nvidia/gpus")
PCI = Path("/sys/bus/pci/devices")
MEMORY = 80 << 30
WIDTH = 8
"""Of 16 lanes: degraded, but for a slot that has no more (and in a guest, where no link is real)."""


def gpu_records() -> list[str]:
    """The driver's record and one for each GPU, numbered as their device nodes; affinities as sysfs has them."""
    found = {}
    for folder in GPUS.iterdir():
        said = dict(re.findall(r"(?m)^([^:]+):\s+(.*)$", (folder / "information").read_text()))
        node = (PCI / folder.name / "numa_node").read_text().strip()
        own_memory = folder / "numa_status"
        found[int(said["Device Minor"])] = record(
            "gpu",
            pci=folder.name,
            uuid=said["GPU UUID"],
            name=said["Model"],
            minor=said["Device Minor"],
            memory=MEMORY,
            width=WIDTH,
            max_width=16,
            nodes=node if node != "-1" else None,
            cpus=(PCI / folder.name / "local_cpulist").read_text().strip() if node != "-1" else None,
            numa=own_memory.read_text().split()[1] if own_memory.exists() else None,
        )
    return [record("driver", version="550.90.07"), *(found[minor] for minor in sorted(found))]


def holding_record(gpu: int, pid: int, used_mib: int) -> str:
    """A compute context."""
    return record("process", gpu=gpu, pid=pid, used=used_mib << 20)
