"""A few lines that make /proc for tests: processes with a stat, a cgroup and threads."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from numa_exporter.model.gpus import Gpu, GpuContext, Gpus
from numa_exporter.model.ids import ProcessKey
from numa_exporter.model.machine import NumaNode, Topology
from numa_exporter.model.processes import Process, Processes
from numa_exporter.model.recording import Refusal
from numa_exporter.model.sample import HostFacts, Sample
from numa_exporter.sources.host import Host
from tests.fakehost import Files

WALL = 1_769_860_800.0
BOOT = WALL - 10_000
V2 = "31 23 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
KTHREAD = 0x00200000
CONTAINER = (
    "/kubepods.slice/kubepods-pod7922aa99_d4aa_4885_a953_82976860b23a.slice/cri-containerd-" + "a" * 64 + ".scope"
)
SIBLING = "/kubepods.slice/kubepods-pod7922aa99_d4aa_4885_a953_82976860b23a.slice/cri-containerd-" + "b" * 64 + ".scope"
STRANGER = "/system.slice/sshd.service"


def stat(
    pid: int,
    *,
    comm: str = "python3",
    state: str = "S",
    start: int = 5000,
    threads: int = 1,
    ticks: tuple[int, int] = (0, 0),
    cpu: int = 0,
    flags: int = 0,
    ppid: int = 1,
) -> str:
    """A line of /proc/PID/stat."""
    numbers = f"{ppid} {pid} {pid} 0 -1 {flags} 0 0 0 0 {ticks[0]} {ticks[1]} 0 0 20 0 {threads} 0 {start}"
    return f"{pid} ({comm}) {state} {numbers}" + " 0" * 16 + f" {cpu} 0 0\n"


def process(pid: int, cgroup: str | Refusal = CONTAINER, **fields: object) -> dict[str, str | bytes | Refusal]:
    """The files of one process that the source ``processes`` reads."""
    line = cgroup if isinstance(cgroup, Refusal) else f"0::{cgroup}\n"
    return {
        f"/proc/{pid}/stat": stat(pid, **fields),  # type: ignore[arg-type]
        f"/proc/{pid}/cgroup": line,
        f"/proc/{pid}/cpuset": line if isinstance(line, Refusal) else f"{cgroup}\n",
        f"/proc/{pid}/fd/0": "",
    }


def machine(*processes: Files, mounts: str = V2, own: int = 999) -> dict[str, str | bytes | Refusal]:
    """/proc with init, these processes and an agent of PID ``own`` (its own stat only)."""
    files = {**process(1, "/init.scope", start=1), "/proc/self/stat": stat(own), "/proc/1/mountinfo": mounts}
    for one in processes:
        files |= one
    return files


def topology(nodes: int = 2, cpus: int = 2) -> Topology:
    """Nodes of so many CPUs each, in ascending order; 100 ticks a second since BOOT."""
    made = [NumaNode(id=node, cpus=frozenset(range(node * cpus, (node + 1) * cpus))) for node in range(nodes)]
    return Topology(nodes=tuple(made), online_cpus=frozenset(range(nodes * cpus)), boot_time=BOOT, clock_ticks=100)


def gpus(*contexts: GpuContext, nvml: bool = True, at: float | None = WALL - 1, **fields: object) -> Gpus:
    """One NVIDIA GPU, minor 0, with these contexts."""
    gpu = Gpu(uuid="GPU-0", vendor="nvidia", minor=0, contexts=contexts if nvml else None)
    return Gpus(gpus=(replace(gpu, **fields),), nvml=nvml, contexts_at=at if nvml else None)  # type: ignore[arg-type]


def context(pid: int, **fields: object) -> GpuContext:
    return GpuContext(pid=pid, **{"kind": "compute", "used_bytes": 1 << 30, **fields})  # type: ignore[arg-type]


def sample(host: Host, **parts: object) -> Sample:
    """A sample of now with a two-node topology, unless told otherwise."""
    now = host.now("sample")
    facts = HostFacts(nodename="fake", mode="live")
    given = {"topology": topology(), **parts}
    return Sample(host=facts, taken_at=now.wall, monotonic=now.monotonic, **given)  # type: ignore[arg-type]


def processes_of(
    pids: Sequence[int], *, start: int = 5000, monotonic: float | None = None, **fields: object
) -> Processes:
    """What the source ``processes`` would hand on for these PIDs."""
    given: Mapping[str, object] = {"ppid": 1, "comm": "python3", "threads": 1, "cpu_seconds": 0.0} | fields
    return Processes(
        processes=tuple(
            Process(
                key=ProcessKey(pid=pid, start_ticks=start),
                **{  # type: ignore[arg-type]
                    "cgroup": None,
                    "container_cgroup": None,
                    "cpuset_cgroup": None,
                    "start_time": BOOT + start / 100,
                    **given,
                },
            )
            for pid in pids
        ),
        read_monotonic=monotonic,
    )
