"""Run in the guest: workloads in kubelet-shaped cgroups, all at once, each ready before anybody looks at them."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.lab import truth
from tests.lab.containers import Container
from tests.lab.workloads import WORKLOADS, Rank

HUGEPAGES = Path("/sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages")
ENGINE = Path("/opt/engine")
"""Where the guest keeps it: a bundle shows the paths of what is mapped, and this machine's are nobody's business."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A rank that is ready: `said` is its line, `cgroups` its directories, the one with memory first."""

    workload: str
    rank: Rank
    container: Container
    said: dict[str, Any]
    cgroups: list[Path]

    @property
    def pid(self) -> int:
        return int(self.said["pid"])

    @property
    def grows(self) -> bool:
        return "grow=" in self.rank.steps

    def truth(self) -> dict[str, Any]:
        answers = truth.of_process(self.pid, self.said["regions"])
        return answers | truth.of_cgroups(self.cgroups)


@contextmanager
def running(names: Sequence[str]) -> Iterator[list[Running]]:
    """Starts the workloads, yields when all hold what they should, and kills them at the end."""
    shutil.copy(os.environ["LAB_ENGINE"], ENGINE)
    if HUGEPAGES.exists():
        HUGEPAGES.write_text("8")
    processes: list[subprocess.Popen[bytes]] = []
    wanted = [(name, rank) for name in names for rank in WORKLOADS[name]]
    started = []
    try:
        for workload, rank in wanted:
            container = rank.container or Container(pod=workload)
            cgroups = container.create()
            process = _start(rank, cgroups)
            processes.append(process)
            started.append((workload, rank, container, process, cgroups))
        yield [
            Running(workload=name, rank=rank, container=container, said=_said(name, process), cgroups=cgroups)
            for name, rank, container, process, cgroups in started
        ]
    finally:
        for process in processes:
            process.kill()
            process.wait()


def _said(name: str, process: "subprocess.Popen[bytes]") -> dict[str, Any]:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise RuntimeError(f"workload {name} ended before it was ready")
    said: dict[str, Any] = json.loads(line)
    return said


def _start(rank: Rank, cgroups: Sequence[Path]) -> "subprocess.Popen[bytes]":
    """Enters the container first, so that all that the process ever touches is charged there."""
    enter = [f"cgroup={folder}" for folder in cgroups]
    numactl = ["numactl", *rank.numactl.split()] if rank.numactl else []
    command = [str(ENGINE), *enter, "--", *numactl, str(ENGINE), *rank.steps.split()]
    return subprocess.Popen(command, stdout=subprocess.PIPE)
