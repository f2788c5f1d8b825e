"""Run in the guest: what the real pynvml says about its GPUs and who holds them, as JSON."""

import json
from typing import Any

import pynvml


def gpu(index: int) -> dict[str, Any]:
    handle = pynvml.nvmlDeviceGetHandleByIndex(index)
    return {
        "pci": pynvml.nvmlDeviceGetPciInfo(handle).busId,
        "nodes": pynvml.nvmlDeviceGetMemoryAffinity(handle, 1, pynvml.NVML_AFFINITY_SCOPE_NODE)[0],
        "pids": [found.pid for found in pynvml.nvmlDeviceGetComputeRunningProcesses(handle)],
    }


if __name__ == "__main__":
    pynvml.nvmlInit()
    print(json.dumps([gpu(index) for index in range(pynvml.nvmlDeviceGetCount())]))
