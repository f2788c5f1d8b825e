"""Run in the guest: a command beside a running workload, and the kernel's own answers taken at the same time.

    python -m tests.lab.observe remote_memory -- numa-exporter report --json

prints {"exit_code", "stdout", "stderr": the command's, "ranks": [{"gpu", "said", "truth"}]}. NVML, as the shim,
names each rank's process on its GPU; what the command leaves in $LAB_OUT comes home.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.lab.gpus import gpu_records, holding_records
from tests.lab.workloads import WORKLOADS, running


def main() -> None:
    name, _, *command = sys.argv[1:]
    with running(WORKLOADS[name]) as ranks:
        records = [*gpu_records(), *holding_records((rank.rank.gpu, rank.pid) for rank in ranks)]
        Path(os.environ["NVML_SHIM_FILE"]).write_text("\n".join(records) + "\n")
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        answer = {
            "exit_code": done.returncode,
            "stdout": done.stdout,
            "stderr": done.stderr,
            "ranks": [{"gpu": rank.rank.gpu, "said": rank.said, "truth": rank.truth()} for rank in ranks],
        }
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
