"""This machine with two NUMA nodes: real processes, threads and containers, and a /sys that says so.

Only two things are made up: /sys, in which half of the CPUs and of eight GPUs lie on each of two nodes (written by
numa_exporter/simhost, mounted in the agent's own mount namespace), and NVML (tests/nvml). /proc, affinities, cgroups
and page tables are the kernel's.
"""

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree

from numa_exporter.simhost import scenario
from numa_exporter.simhost.layout import Layout
from numa_exporter.simhost.timeline import Simulation
from tests.bench.benchmark import UnableError
from tests.bench.targets import running
from tests.nvml.build import NvmlShim, build, record

CGROUPS = Path("/sys/fs/cgroup")
GPUS = 8
GIB = 1 << 30
MACHINE = """
description = "two nodes"
past = "0s"
[machine]
sockets = 2
cores_per_node = {cores}
threads_per_core = 1
gpus = [0, 0, 0, 0, 1, 1, 1, 1]
memory_per_node = "16GiB"
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What runs: a rank for each GPU first, then one process for each further container of their pods.

    ``inside`` is put before a command that shall see the machine of two nodes; ``containers`` are the directories of
    each container's cgroups, in the order of the processes.
    """

    processes: Sequence["subprocess.Popen[str]"]
    containers: Sequence[Sequence[Path]]
    shim: NvmlShim
    layout: Layout
    inside: Sequence[str]

    def unit(self, number: int) -> str:
        """The workload of a process, as the agent calls it."""
        return container_id(number)[:12]

    def hold(self, gpu_of: Sequence[int], beside: Sequence[int] = ()) -> None:
        """Say through NVML on which GPU each rank has its context; those ``beside`` in no container, on GPU 0."""
        holders = [(self.processes[rank].pid, gpu) for rank, gpu in enumerate(gpu_of)]
        self.shim.write(
            record("driver", version="550.90.07"),
            *(
                record("gpu", pci=gpu.address, uuid=gpu.uuid, name="simulated", minor=gpu.index, nodes=str(gpu.node))
                for gpu in self.layout.gpus
            ),
            *(
                record("process", gpu=gpu, pid=pid, used=20 * GIB)
                for pid, gpu in (*holders, *((pid, 0) for pid in beside))
            ),
        )


def container_id(number: int) -> str:
    return f"{number + 1:012x}{os.getpid():052x}"


def pod_uid(number: int) -> str:
    return f"{number % GPUS:08x}-0000-4000-8000-{os.getpid():012x}"


@contextmanager
def loaded(*, threads: int = 500, awake: int = 50, containers: int = 64, mib: int = 0) -> Iterator[Load]:
    """A rank of so many threads for each GPU, in a pod of its own; its pod's other containers have one thread each."""
    if os.geteuid() != 0:
        raise UnableError("needs root: it makes cgroups and a mount namespace")
    cpus = os.cpu_count() or 1
    if cpus < 2:
        raise UnableError("needs two CPUs, for two nodes")
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="bench-"))
        stack.callback(rmtree, folder)
        told = scenario.parse(MACHINE.format(cores=cpus // 2), "two-nodes.toml")
        simulation = Simulation(told, seed=1, began=time.time())
        _write_sys(simulation, folder / "sys")
        cgroups = [stack.enter_context(_container(number)) for number in range(containers)]
        processes = []
        for number, own in enumerate(cgroups):
            arguments = (threads, awake, mib) if number < GPUS else (1, 0, 0)
            process = stack.enter_context(running("crowd", *arguments))
            for directory in own:
                (directory / "cgroup.procs").write_text(str(process.pid))
            processes.append(process)
        shim = NvmlShim(library=build(folder), file=folder / "nvml.txt", log=folder / "nvml.log")
        load = Load(
            processes=processes,
            containers=cgroups,
            shim=shim,
            layout=simulation.layout,
            inside=_inside(folder / "sys", shim),
        )
        load.hold(range(GPUS))
        yield load


def _write_sys(simulation: Simulation, root: Path) -> None:
    """What the simulated machine answers below /sys, as files, folders and links."""
    answers = {**simulation.standing, **simulation.frame(0.0).answers}
    below = {
        (door, root / key.removeprefix("/sys/")): answer
        for (door, key), answer in answers.items()
        if key.startswith("/sys/") and not key.startswith(str(CGROUPS))
    }
    (root / "fs" / "cgroup").mkdir(parents=True)
    for (door, path), answer in below.items():
        if door == "real":
            target = root / str(answer).removeprefix("/sys/")
            target.mkdir(parents=True, exist_ok=True)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.symlink_to(os.path.relpath(target, path.parent.resolve()))
    for (door, path), answer in below.items():
        if door == "file" and isinstance(answer, bytes):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(answer)
    for (door, path), answer in below.items():
        if door == "list" and isinstance(answer, list):
            path.mkdir(parents=True, exist_ok=True)
            for name in answer:
                if not (path / str(name)).exists():
                    (path / str(name)).touch()


def _inside(sys: Path, shim: NvmlShim) -> Sequence[str]:
    variables = [f"{name}={value}" for name, value in shim.environment.items() if name != "NVML_SHIM_LOG"]
    script = f'mount --rbind {CGROUPS} {sys}/fs/cgroup && mount --rbind {sys} /sys && exec "$@"'
    return ("env", *variables, "unshare", "--mount", "sh", "-c", script, "sh")


@contextmanager
def _container(number: int) -> Iterator[Sequence[Path]]:
    """The cgroups of a pod's container as the kubelet makes them: in each hierarchy of v1, or in that of v2."""
    tops = [CGROUPS / name for name in ("memory", "cpuset", "cpuacct", "systemd")]
    legacy = [top for top in tops if (top / "tasks").exists()]
    below = Path("kubepods", "burstable", f"pod{pod_uid(number)}", container_id(number))
    folders = [top / below for top in legacy or [CGROUPS]]
    try:
        for folder in folders:
            for each in (*list(folder.parents)[2::-1], folder):
                each.mkdir(exist_ok=True)
                if folder.is_relative_to(CGROUPS / "cpuset"):  # v1: nothing may enter a cpuset without CPUs and nodes
                    for name in ("cpuset.cpus", "cpuset.mems"):
                        (each / name).write_text((each.parent / name).read_text())
        yield folders
    finally:
        for folder in folders:
            _remove(folder, len(below.parts))


def _remove(folder: Path, levels: int, seconds: float = 10.0) -> None:
    """A cgroup, once its last process is gone, and those above it that are empty then."""
    until = time.monotonic() + seconds
    while folder.exists() and time.monotonic() < until:
        try:
            folder.rmdir()
        except OSError:
            time.sleep(0.05)
    for parent in list(folder.parents)[: levels - 1]:
        if parent.exists() and not any(each.is_dir() for each in parent.iterdir()):
            parent.rmdir()
