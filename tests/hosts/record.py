"""Records the machines anew in the lab, with their goldens; the pods are those of tests/lab/workloads.

python -m tests.hosts.record [NAME ...]
"""

import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tests.hosts.recorded import BUNDLE, HOSTS, goldens
from tests.lab.observation import observe
from tests.lab.programs import programs
from tests.lab.runner import Lab
from tests.lab.topology import TOPOLOGIES
from tests.lab.workloads import DEVICES, MEMORY_ONLY, NO_MEMORY, ONE_NODE, SUB_NUMA


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """`lab` are fields of tests.lab.runner.Lab, `look` arguments of tests.lab.observation.observe."""

    topology: str
    workloads: Sequence[str]
    lab: Mapping[str, Any] = field(default_factory=dict)
    look: Mapping[str, Any] = field(default_factory=dict)


MACHINES = MappingProxyType(
    {
        "two-sockets-well": Machine(
            topology="2s2n", workloads=["good", "good_busy", "confined", "stray", "monitor", "forked", "nccl"]
        ),
        "two-sockets-false-alarms": Machine(
            topology="2s2n",
            workloads=["pool", "tmpfs_weights", "file_weights", "loading", "idle", "all_gpus", "segment"],
            lab={"kernel": "6.12"},
        ),
        "two-sockets-astray": Machine(
            topology="2s2n",
            workloads=["remote_cpu", "remote_memory", "host_buffers", "before_bind", "escaped_threads", "interleave"],
            lab={"kernel": "6.12"},
        ),
        "two-sockets-cgroup-v1": Machine(
            topology="2s2n", workloads=["swapped", "astray", "wide_mems", "wide_cpus", "hugetlb"], lab={"cgroup": "v1"}
        ),
        "two-nodes-a-socket": Machine(topology="2s4n-snc2", workloads=list(SUB_NUMA)),
        "memory-of-gpus": Machine(
            topology="2s4n-memonly", workloads=list(MEMORY_ONLY), lab={"memory_nodes": (2, 3), "kernel": "6.12"}
        ),
        "memory-expanders": Machine(topology="2s4n-memonly", workloads=["beside"]),
        "node-without-memory": Machine(topology="2s2n-nomem", workloads=list(NO_MEMORY)),
        "one-node": Machine(topology="1s1n", workloads=list(ONE_NODE)),
        "full-of-page-cache": Machine(
            topology="2s2n-lean", workloads=["spilled"], look={"options": ["--fill-node", "0"], "window": "15s"}
        ),
        "lanes-and-interrupts": Machine(
            topology="2s2n-lean",
            workloads=list(DEVICES),
            lab={
                "devices": ("nvidia/net", "nvidia:8"),
                "guest": False,
                "append": "numa_balancing=disable",
            },
            look={"options": ["--interrupts", "3"]},
        ),
    }
)


def record(name: str, folder: Path) -> None:
    machine = MACHINES[name]
    options = {"devices": ("nvidia",), **machine.lab}
    lab = Lab(topology=TOPOLOGIES[machine.topology], folder=folder, environment=programs(folder), **options)
    seen = observe(lab, machine.workloads, **machine.look)
    home = HOSTS / name
    home.mkdir(exist_ok=True)
    shutil.copy(seen.bundle, home / BUNDLE)
    for file, text in goldens(home).items():
        (home / file).write_text(text)


def main() -> None:
    for name in sys.argv[1:] or MACHINES:
        with tempfile.TemporaryDirectory(prefix="numa-lab-") as folder:
            record(name, Path(folder))
        print(name)


if __name__ == "__main__":
    main()
