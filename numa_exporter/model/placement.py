"""Placement: what a Sample means. Every byte, thread and CPU second set against the home of the rank it belongs to."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar

from numa_exporter.formats.pci_address import PciAddress
from numa_exporter.model.gpus import Gpu, Gpus
from numa_exporter.model.ids import (
    Backing,
    CpuSet,
    Dimension,
    Locality,
    NodeSet,
    ProcessKey,
    RankKey,
    WorkloadKey,
)
from numa_exporter.model.kubelet import Grant, Promises
from numa_exporter.model.machine import Balancing, Device, NumaNode, TrafficDomain
from numa_exporter.model.processes import Cgroup, Evidence, GpuEvidence, Sampling, ThreadGroup
from numa_exporter.model.sample import HostFacts

Key = TypeVar("Key")
NodeKind = Literal["cpu", "memory", "gpu"]
Role = Literal["main", "stray", "observer"]
SocketsUnknown = Literal["no_cpus", "package_missing", "package_per_cpu", "node_spans_packages"]
"""No node with CPUs; a CPU without package id (-1); every CPU claims its own (VM default); one node spans packages."""
PathClass = Literal["PIX", "PXB", "PHB", "NODE", "SYS"]
AffinitySource = Literal["sysfs", "nvml", "only_node"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedNode:
    """A NUMA node with its kind and socket. ``socket`` is None where sockets are not known; a node of kind
    ``memory`` or ``gpu`` carries the socket of its nearest CPU node, None on a tie across sockets, and a GPU's own
    memory the GPU's.

    ``nearest``: the CPU nodes nearest to it by distance, a CPU node being nearest to itself; empty where the
    distances do not say. ``has_memory`` is false for a node without a single byte (a socket without DIMMs).
    """

    node: NumaNode
    kind: NodeKind
    socket: int | None
    online_cpus: CpuSet
    nearest: tuple[int, ...] = ()
    has_memory: bool = True

    @property
    def id(self) -> int:
        return self.node.id


@dataclass(frozen=True, slots=True, kw_only=True)
class Socket:
    """A processor socket: nodes whose sets of physical packages intersect."""

    id: int
    nodes: tuple[int, ...]
    cpus: CpuSet
    utilization: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedDevice:
    """A device with its socket, and its fired interrupts by locality of the serving CPU to the device's own node
    (None where its node or its interrupts are unknown)."""

    device: Device
    socket: int | None
    interrupts: Mapping[Locality, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DevicePath:
    """PCIe path class of one unordered pair; ``peer_class`` is gpu, nic, rdma or nvme."""

    uuid: str
    peer: str
    peer_class: str
    path: PathClass


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedGpu:
    """A GPU with the CPU nodes nearest to it and their sockets. An empty ``affinity`` is unknown, never node 0."""

    gpu: Gpu
    affinity: tuple[int, ...]
    source: AffinitySource | None
    sockets: frozenset[int]

    @property
    def uuid(self) -> str:
        return self.gpu.uuid


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """The machine as it stands. ``cpu_seconds``: (socket, node) to mode to seconds since boot, held so that it does
    not fall when a CPU goes offline; likewise ``allocations``, numastat's events by (node, event), and the counters of
    ``balancing``. ``node_of_cpu`` folds any CPU set of online CPUs into nodes. ``sockets`` is empty
    and ``sockets_unknown`` says why where they cannot be told. ``virtual`` is true under a hypervisor, None where
    unknown: then PCIe paths are its invention. ``gpus_known`` is false where nobody answered for the GPUs lately: then
    an empty ``gpus`` is unknown, not none."""

    nodes: tuple[PlacedNode, ...]
    sockets: tuple[Socket, ...]
    gpus: tuple[PlacedGpu, ...]
    sockets_unknown: SocketsUnknown | None = None
    devices: tuple[PlacedDevice, ...] = ()
    paths: tuple[DevicePath, ...] = ()
    traffic: tuple[TrafficDomain, ...] = ()
    balancing: Balancing = field(default_factory=Balancing)
    cpu_seconds: Mapping[tuple[int | None, int], Mapping[str, float]] = field(default_factory=dict)
    allocations: Mapping[tuple[int, str], int] = field(default_factory=dict)
    node_of_cpu: Mapping[int, int] = field(default_factory=dict)
    isolated_cpus: CpuSet = frozenset()
    virtual: bool | None = None
    driver_version: str | None = None
    nvml: bool = False
    gpus_known: bool = True

    def node(self, node_id: int) -> PlacedNode | None:
        return next((placed for placed in self.nodes if placed.id == node_id), None)

    def gpu(self, uuid: str) -> PlacedGpu | None:
        return next((placed for placed in self.gpus if placed.uuid == uuid), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """A context of a process on a GPU."""

    uuid: str
    role: Role
    evidence: Evidence
    used_bytes: int | None = None
    mig_uuid: str | None = None
    gpu_instance_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedProcess:
    """A process of a rank or a helper, with its holdings (none for a helper without a GPU). ``cpu_seconds`` by node
    since the agent first saw it; None where unknown."""

    key: ProcessKey
    comm: str
    evidence: Evidence | None
    holdings: tuple[Holding, ...] = ()
    start_time: float | None = None
    cpu_seconds_total: float = 0.0
    cpu_seconds: Mapping[int, float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Observer:
    """A process that holds devices open but computes nothing. ``workload`` is None where its cgroup is unknown."""

    key: ProcessKey
    comm: str
    gpus: tuple[str, ...]
    workload: WorkloadKey | None = None
    holdings: tuple[Holding, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuTime:
    """CPU seconds of a rank by (node, locality), and of those whose thread had moved. Locality None: home unknown."""

    seconds: Mapping[tuple[int, Locality | None], float] = field(default_factory=dict)
    moved_seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally(Generic[Key]):
    """A family of kernel counters between two readings. ``raw`` is the last reading, taken at ``read_at``; ``total``
    what they came to, never falling where a counter wraps or a CPU goes offline; ``step`` what the last reading added.
    """

    read_at: float
    raw: Mapping[Key, float]
    total: Mapping[Key, float]
    step: Mapping[Key, float] = field(default_factory=dict)
    seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessMark:
    """Where the ledger left a process: the cumulative figures of ProcessThreads that were credited already."""

    seconds: Mapping[int, float] = field(default_factory=dict)
    moved_seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuAccount:
    """CPU time of one rank: the sums, what they were at earlier moments (monotonic, oldest first), and the difference
    over the window of the verdict. A change of home starts the window anew. ``seen_at`` is monotonic."""

    home: NodeSet
    seen_at: float
    cpu: CpuTime = field(default_factory=CpuTime)
    looks: tuple[tuple[float, CpuTime], ...] = ()
    window: CpuTime = field(default_factory=CpuTime)
    window_seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LastHolding:
    """A context as NVML last listed it, at ``seen_at`` (wall-clock seconds)."""

    evidence: GpuEvidence
    seen_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """What the join carries from one sample to the next.

    ``accounts`` and ``marks``: CPU time by rank, so that no counter falls when a process ends. ``cgroups``: v1's exact
    CPU time by (cgroup, node). ``cpus``: /proc/stat by (node, mode). ``interrupts`` by (PCI function, node).
    ``events``: numastat's by (node, event) and those of automatic balancing by (None, event).
    ``holdings`` and ``gpus``: what NVML last said, for when it gets stuck. ``keys``: how each container and job that
    has names of its own was first called, by its id.
    """

    accounts: Mapping[RankKey, CpuAccount] = field(default_factory=dict)
    marks: Mapping[ProcessKey, ProcessMark] = field(default_factory=dict)
    cgroups: Tally[tuple[str, int]] | None = None
    cpus: Tally[tuple[int, str]] | None = None
    interrupts: Tally[tuple[PciAddress, int]] | None = None
    events: Tally[tuple[int | None, str]] | None = None
    holdings: Mapping[ProcessKey, tuple[LastHolding, ...]] = field(default_factory=dict)
    gpus: Gpus | None = None
    gpus_at: float = 0.0
    keys: Mapping[str, WorkloadKey] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rank:
    """Processes of one workload with the same set of main GPUs, against their home. Key uuid None = the helpers.

    ``home`` is empty where an affinity is unknown. ``memory_home``: those of it that have memory, else the nearest that
    have. ``indistinct``: home covers every socket of several, so that nothing can be told and no ratio is exposed.
    ``unjudged`` says why no verdict may be given whatever the figures; ``low_confidence`` why one is to be doubted.
    ``cpu`` are sums since the agent first saw the rank, ``cpu_window`` those of the last ``cpu_window_seconds``.
    ``mapped`` is bytes by backing and node and ``mapped_locality`` the locality of those nodes (None = cannot be told);
    ``private_shmem`` is the part of the named shmem that this rank alone maps, ``shared_shmem`` what others map too.
    ``misalignment`` holds only the dimensions that are known: ``remote`` over ``considered``, in bytes or CPU seconds.
    ``half_width`` is the 95 % half-width of a ratio (0 where pages were walked). ``thread_window`` is the seconds
    over which threads were watched. ``interrupts``: (remote, fired) of the near NICs in ``interrupts_window`` seconds.
    """

    key: RankKey
    gpus: tuple[str, ...]
    home: NodeSet
    memory_home: NodeSet
    processes: tuple[PlacedProcess, ...]
    low_confidence: str | None = None
    unjudged: str | None = None
    indistinct: bool = False
    start_time: float | None = None
    gpu_used_bytes: int | None = None
    allowed_cpus: Mapping[Locality, int] | None = None
    threads: Mapping[Locality, int] | None = None
    thread_groups: tuple[ThreadGroup, ...] = ()
    thread_window: float | None = None
    escaped_threads: int | None = None
    escaped_cores: float | None = None
    cpu: CpuTime = field(default_factory=CpuTime)
    cpu_known: bool = False
    cpu_window: CpuTime = field(default_factory=CpuTime)
    cpu_window_seconds: float = 0.0
    mapped: Mapping[Backing, Mapping[int, int]] | None = None
    mapped_locality: Mapping[int, Locality | None] = field(default_factory=dict)
    private_shmem: Mapping[int, int] = field(default_factory=dict)
    shared_shmem: Mapping[int, int] = field(default_factory=dict)
    method: Literal["walk", "sample"] | None = None
    withheld: str | None = None
    policy: str | None = None
    policy_bytes: Mapping[str, int] | None = None
    misalignment: Mapping[Dimension, float] = field(default_factory=dict)
    half_width: Mapping[Dimension, float] = field(default_factory=dict)
    remote: Mapping[Dimension, float] = field(default_factory=dict)
    considered: Mapping[Dimension, float] = field(default_factory=dict)
    interrupts: tuple[int, int] | None = None
    interrupts_window: float | None = None

    @property
    def error(self) -> float | None:
        """The half-width of the remote share of memory; None where nothing is known."""
        return self.half_width.get("memory")


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """A container, unit or job step that holds a GPU, or shares a pod with one that does: then it has helpers only,
    whose home is the pod's. ``helpers`` is a Rank of key uuid None. ``gpus``: the main GPUs of its ranks.

    ``cpuset_by_locality`` counts the CPUs of the effective cpuset against the union of its ranks' homes; None where
    a home or the cpuset is unknown. ``grant``: what the kubelet promised this container.
    """

    key: WorkloadKey
    pod_uid: str | None = None
    container_id: str | None = None
    runtime: str | None = None
    qos_class: str | None = None
    slurm_job_id: str | None = None
    slurm_step: str | None = None
    cgroup: Cgroup | None = None
    ranks: tuple[Rank, ...] = ()
    helpers: Rank | None = None
    gpus: tuple[str, ...] = ()
    cpuset_by_locality: Mapping[Locality, int] | None = None
    notes: tuple[str, ...] = ()
    grant: Grant | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribution:
    """GPU processes by how far they could be attributed; None where the processes are not known."""

    attributed: int | None = None
    unattributed: int | None = None
    denied: int | None = None
    observer: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """The join of one Sample. ``machine`` is None where no topology is known; then nothing is placed. ``promises`` is
    None where no kubelet is heard."""

    host: HostFacts
    taken_at: float
    monotonic: float
    machine: Machine | None
    workloads: tuple[Workload, ...] = ()
    observers: tuple[Observer, ...] = ()
    attribution: Attribution = field(default_factory=Attribution)
    ledger: Ledger = field(default_factory=Ledger)
    cgroup_layout: str | None = None
    sampling: Sampling | None = None
    promises: Promises | None = None
