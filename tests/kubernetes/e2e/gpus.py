"""The GPUs that this machine does not have: what the device plugin offers, and what NVML says of them."""

from collections.abc import Iterable

from tests.kubernetes.e2e.workloads import Running
from tests.nvml.build import NvmlShim, record

UUIDS = tuple(f"GPU-{digit * 8}-0000-4000-8000-00000000000{digit}" for digit in "1234")


def write(shim: NvmlShim, running: Iterable[Running]) -> None:
    """Has NVML say that each container's first process uses the GPUs that the kubelet gave the container."""
    model: dict[str, str | int] = {"name": "NVIDIA H100", "memory": 80 << 30, "nodes": 0}
    gpus = [record("gpu", pci=f"0000:{at + 1:x}1:00.0", uuid=uuid, minor=at, **model) for at, uuid in enumerate(UUIDS)]
    processes = [
        record("process", gpu=UUIDS.index(uuid), pid=container.pid, used=2 << 30)
        for container in running
        for uuid in sorted(container.gpus)
    ]
    shim.write(record("driver", version="550.90.07", nvml="12.550.90.07", cuda=12040), *gpus, *processes)
