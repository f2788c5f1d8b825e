"""Run in the guest: GPU workloads that go with the grain of a two-socket machine, or against it in one way each.

    python -m tests.lab.workloads good remote_memory

starts each in kubelet-shaped cgroups, asks the kernel where it is, stops it, and prints all answers as JSON.
"""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tests.lab import truth
from tests.lab.containers import Container

HUGEPAGES = "/sys/devices/system/node/node{}/hugepages/hugepages-2048kB/nr_hugepages"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rank:
    """A process that computes on GPU `gpu`: `numactl` options around tests.lab.holder with `steps`."""

    gpu: int = 0
    numactl: str = ""
    steps: str = "hold=anon:24"
    container: Container = field(default_factory=lambda: Container(pod="trainer"))


NEAR, FAR = "--cpunodebind=0 --membind=0", "--cpunodebind=1 --membind=1"

# GPU 0 is on node 0, GPU 1 on node 1
WORKLOADS = MappingProxyType(
    {
        "good": (Rank(numactl=NEAR), Rank(gpu=1, numactl=FAR)),
        "unbound": (Rank(),),
        "remote_cpu": (Rank(numactl="--cpunodebind=1 --membind=0"),),
        "remote_memory": (Rank(numactl="--cpunodebind=0 --membind=1"),),
        "interleave": (Rank(numactl="--cpunodebind=0 --interleave=all"),),
        "weighted_interleave": (Rank(steps="cpus=0-3 policy=weighted:0-1 hold=anon:24"),),
        "prefer_many": (Rank(steps="cpus=0-3 policy=prefer_many:1 hold=anon:24"),),
        "thp": (Rank(numactl="--cpunodebind=0 --membind=1", steps="hold=thp:24"),),
        "hugetlb": (Rank(numactl="--cpunodebind=0 --membind=1", steps="hold=hugetlb:8"),),
        "shared": (Rank(numactl=FAR, steps="hold=shm:8 hold=shmem_anon:12 hold=memfd:16"),),
        "file": (Rank(numactl=FAR, steps="hold=file:8"),),
        "driver": (Rank(numactl="--cpunodebind=1", steps="open=/dev/nvidia0 open=/dev/nvidia-uvm hold=driver:8"),),
        "forked": (Rank(numactl=NEAR, steps="hold=anon:24 fork=2"),),
        "before_bind": (Rank(steps="cpus=0-3 policy=bind:1 hold=anon:24 policy=bind:0 hold=anon:8"),),
        "swapped": (Rank(numactl=FAR), Rank(gpu=1, numactl=NEAR)),
        "escaped_threads": (Rank(steps="cpus=0-3 policy=bind:0 hold=anon:8 thread=4-7 thread=0-3"),),
        "confined": (
            Rank(container=Container(pod="confined", qos="guaranteed", cpus="0-3", mems="0")),
            Rank(gpu=1, container=Container(pod="astray", qos="guaranteed", cpus="0-3", mems="0")),
        ),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A rank that is ready: `said` is its line, `cgroups` its directories, the one with memory first."""

    rank: Rank
    said: dict[str, Any]
    cgroups: list[Path]

    @property
    def pid(self) -> int:
        return int(self.said["pid"])

    def truth(self) -> dict[str, Any]:
        answers = truth.of_process(self.pid, self.said["regions"])
        return answers | {"charged": truth.charged(self.cgroups[0])}


@contextmanager
def running(ranks: Sequence[Rank]) -> Iterator[list[Running]]:
    """Starts `ranks`, yields when all hold what they should, and kills them at the end."""
    for node in (0, 1):
        Path(HUGEPAGES.format(node)).write_text("8")
    processes = []
    try:
        started = []
        for rank in ranks:
            cgroups = rank.container.create()
            process = subprocess.Popen(_command(rank, cgroups), stdout=subprocess.PIPE)
            processes.append(process)
            assert process.stdout is not None
            started.append((rank, process.stdout, cgroups))
        yield [Running(rank=rank, said=json.loads(said.readline()), cgroups=cgroups) for rank, said, cgroups in started]
    finally:
        for process in processes:
            process.kill()
            process.wait()


def _command(rank: Rank, cgroups: Sequence[Path]) -> list[str]:
    """Enters the container first, so that all that the process ever touches is charged there."""
    enter = "".join(f"echo $$ > '{folder}/cgroup.procs'; " for folder in cgroups)
    numactl = ["numactl", *rank.numactl.split()] if rank.numactl else []
    holder = [sys.executable, "-m", "tests.lab.holder", *rank.steps.split()]
    return ["bash", "-c", f'{enter}exec "$@"', "bash", *numactl, *holder]


def main() -> None:
    answers = {}
    for name in sys.argv[1:]:
        with running(WORKLOADS[name]) as ranks:
            answers[name] = [{"said": rank.said, "truth": rank.truth()} for rank in ranks]
    print(json.dumps(answers))


if __name__ == "__main__":
    main()
