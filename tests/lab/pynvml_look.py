"""Run in the guest: a rank on each GPU, and what the real pynvml says about them through the shim."""

import json
import os
from pathlib import Path

import pynvml

from tests.lab.gpus import gpu_records, holding_records
from tests.lab.workloads import WORKLOADS, running


def main() -> None:
    with running(WORKLOADS["good"]) as ranks:
        holders = [(rank.rank.gpu, rank.pid) for rank in ranks]
        records = [*gpu_records(), *holding_records(holders)]
        Path(os.environ["NVML_SHIM_FILE"]).write_text("\n".join(records) + "\n")
        pynvml.nvmlInit()
        handles = [pynvml.nvmlDeviceGetHandleByIndex(n) for n in range(pynvml.nvmlDeviceGetCount())]
        said = [
            {
                "pci": pynvml.nvmlDeviceGetPciInfo(handle).busId,
                "nodes": pynvml.nvmlDeviceGetMemoryAffinity(handle, 1, 0)[0],
                "pids": [found.pid for found in pynvml.nvmlDeviceGetComputeRunningProcesses(handle)],
            }
            for handle in handles
        ]
    print(json.dumps({"gpus": said, "pids": [pid for _, pid in holders]}))


if __name__ == "__main__":
    main()
