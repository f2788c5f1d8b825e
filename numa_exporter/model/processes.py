"""What /proc and the cgroup trees said of the processes in GPU-holding containers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from numa_exporter.formats.workload_path import WorkloadPath
from numa_exporter.model.ids import Backing, CpuSet, NodeSet, ProcessKey

Evidence = Literal["nvml", "kfd", "drm", "fd", "kubelet", "vfio"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuEvidence:
    """Why a process is said to hold a GPU. Only NVML (and KFD) know used bytes; an open fd means "may use".

    ``kind`` is NVML's list. ``opened_compute`` is true where nvidia-uvm or kfd is open too (fd evidence).
    """

    uuid: str
    evidence: Evidence
    used_bytes: int | None = None
    kind: Literal["compute", "graphics", "mps"] = "compute"
    gpu_instance_id: int | None = None
    mig_uuid: str | None = None
    opened_compute: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """A live user process of interest: it holds a GPU or shares a container (or pod) with one that does.

    ``cgroup`` names the workload; ``container_cgroup`` is the absolute path of the container's own directory and
    ``cpuset_cgroup`` that of the nearest ancestor with a cpuset (/proc/PID/cpuset). ``cpu_seconds`` is utime + stime.
    """

    key: ProcessKey
    ppid: int
    comm: str
    cgroup: WorkloadPath | None
    container_cgroup: str | None
    cpuset_cgroup: str | None
    threads: int
    cpu_seconds: float
    start_time: float | None = None
    evidence: tuple[GpuEvidence, ...] = ()
    own: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Processes:
    """Every process of every GPU-holding container.

    ``unattributed`` counts GPU PIDs that no live process with a cgroup answers to; ``denied`` those whose files
    could not be read. ``read_monotonic``: when ``cpu_seconds`` was read, on the clock that never jumps.
    """

    processes: tuple[Process, ...]
    unattributed: int = 0
    denied: int = 0
    read_monotonic: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadGroup:
    """Threads of one process that share an affinity mask.

    ``window_seconds`` is the CPU time of the last window by node; ``busy`` how many threads used at least the
    limit of an escaped thread in it; ``ran_on`` counts threads that ran in it, by node of the CPU last run on.
    """

    allowed: CpuSet
    threads: int
    busy: int = 0
    has_main: bool = False
    window_seconds: Mapping[int, float] = field(default_factory=dict)
    ran_on: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessThreads:
    """CPU side of one process.

    ``cpu_seconds`` by node is cumulative since the agent first saw the process (first sight adds 0);
    ``moved_seconds`` the part whose thread changed node between looks. ``exact`` where every mask lies in one node.
    ``looked_at`` / ``threads`` is the covered share when the thread budget rotates. An exact process's threads are
    not read: then all count as having run on their node, and its main thread's group shows the whole window.
    """

    groups: tuple[ThreadGroup, ...]
    cpu_seconds: Mapping[int, float]
    moved_seconds: float
    exact: bool
    threads: int
    looked_at: int
    window: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Threads:
    """ProcessThreads by process."""

    by_process: Mapping[ProcessKey, ProcessThreads]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cgroup:
    """A container's cgroup. ``charged`` is bytes by backing and node; ``cpu_seconds`` by CPU is v1's exact
    cpuacct.usage_percpu, None on v2. ``cpus``/``mems`` are the effective cpuset, None where unreadable;
    ``cpuset_directory`` is where that is read."""

    path: str
    version: Literal[1, 2]
    cpus: CpuSet | None = None
    mems: NodeSet | None = None
    cpuset_directory: str | None = None
    charged: Mapping[str, Mapping[int, int]] | None = None
    cpu_seconds: Mapping[int, float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cgroups:
    """Cgroup facts by the container's cgroup path, and the host's layout: v1, v2 or hybrid."""

    by_path: Mapping[str, Cgroup]
    layout: Literal["v1", "v2", "hybrid", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassEstimate:
    """One backing class of a sampled process: its bytes, node shares and effective sample size."""

    resident_bytes: int
    shares: Mapping[int, float]
    effective_samples: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MappedMemory:
    """Where one process's pages are.

    ``mapped``: bytes by backing and node. ``segments``: the named shared part of it by segment identity
    (device:inode, or the file) and node, so that a segment mapped by several ranks is told from a private one.
    ``estimates`` is None when walked in full. ``policy`` is the leader's effective policy word, ``policy_bytes``
    only known from a full walk. ``withheld`` says why there are no shares; then ``mapped`` is empty.
    """

    method: Literal["walk", "sample"]
    mapped: Mapping[Backing, Mapping[int, int]]
    resident_bytes: int | None = None
    segments: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    estimates: Mapping[Backing, ClassEstimate] | None = None
    policy: str | None = None
    policy_bytes: Mapping[str, int] | None = None
    withheld: str | None = None
    read_at: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """By what means pages can be sampled on this host: with PAGEMAP_SCAN and move_pages, by move_pages alone (then
    sparse address spaces are beyond reach), or not at all. ``obstacle`` says what stands in the way of better ones."""

    means: Literal["pagemap_scan", "move_pages", "none"]
    obstacle: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """MappedMemory by process. ``sampling`` is None where nobody tried yet."""

    by_process: Mapping[ProcessKey, MappedMemory]
    sampling: Sampling | None = None
