"""Placement: what a Sample means. Every byte, thread and CPU second set against the home of the rank it belongs to."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from numa_exporter.model.gpus import Gpu
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
from numa_exporter.model.machine import Balancing, Device, NumaNode, TrafficDomain
from numa_exporter.model.processes import Cgroup, ClassEstimate, Evidence, GpuEvidence, ThreadGroup
from numa_exporter.model.sample import HostFacts

NodeKind = Literal["cpu", "memory", "gpu"]
Role = Literal["main", "stray", "observer"]
PathClass = Literal["PIX", "PXB", "PHB", "NODE", "SYS"]
AffinitySource = Literal["sysfs", "nvml", "only_node"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedNode:
    """A NUMA node with its kind and socket. ``socket`` is None where sockets are not known; a node of kind
    ``memory`` or ``gpu`` carries the socket of its nearest CPU node, None on a tie across sockets."""

    node: NumaNode
    kind: NodeKind
    socket: int | None
    online_cpus: CpuSet

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
    """A GPU with the CPU nodes nearest to it. An empty ``affinity`` is unknown, never node 0."""

    gpu: Gpu
    affinity: tuple[int, ...]
    source: AffinitySource | None
    sockets: frozenset[int]

    @property
    def uuid(self) -> str:
        return self.gpu.uuid


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """The machine as it stands. ``cpu_seconds``: (socket, node) to mode to seconds since boot. ``node_of_cpu``
    folds any CPU set into nodes. ``virtual`` is true under a hypervisor, None where unknown."""

    nodes: tuple[PlacedNode, ...]
    sockets: tuple[Socket, ...]
    gpus: tuple[PlacedGpu, ...]
    devices: tuple[PlacedDevice, ...] = ()
    paths: tuple[DevicePath, ...] = ()
    traffic: tuple[TrafficDomain, ...] = ()
    balancing: Balancing = field(default_factory=Balancing)
    cpu_seconds: Mapping[tuple[int | None, int], Mapping[str, float]] = field(default_factory=dict)
    node_of_cpu: Mapping[int, int] = field(default_factory=dict)
    isolated_cpus: CpuSet = frozenset()
    virtual: bool | None = None
    driver_version: str | None = None
    nvml: bool = False

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
    """A process of a rank or a helper, with its holdings (none for a helper without a GPU)."""

    key: ProcessKey
    comm: str
    evidence: Evidence | None
    holdings: tuple[Holding, ...] = ()
    start_time: float | None = None
    cpu_seconds_total: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Observer:
    """A process that holds devices open but computes nothing."""

    key: ProcessKey
    comm: str
    gpus: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuTime:
    """Agent-held sums of CPU seconds of a rank by (node, locality), and of those whose thread had moved."""

    seconds: Mapping[tuple[int, Locality], float] = field(default_factory=dict)
    moved_seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessMark:
    """Where the ledger left a process: the cumulative figures of ProcessThreads that were credited already."""

    seconds: Mapping[int, float] = field(default_factory=dict)
    moved_seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """What the join carries from one sample to the next: CPU sums by rank, so that no counter falls when a process
    ends, and the last known holdings (with the wall time they were seen) for when NVML gets stuck."""

    ranks: Mapping[RankKey, CpuTime] = field(default_factory=dict)
    processes: Mapping[ProcessKey, ProcessMark] = field(default_factory=dict)
    holdings: Mapping[ProcessKey, tuple[GpuEvidence, ...]] = field(default_factory=dict)
    holdings_at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rank:
    """Processes of one workload with the same set of main GPUs, against their home. Key uuid None = the helpers.

    ``home`` is empty where an affinity is unknown.
    ``indistinct`` is true where home covers every socket: nothing can be told, no ratio is exposed.
    ``mapped`` is bytes by backing and node, ``private_shmem`` the part of its shmem that this rank alone maps.
    ``misalignment`` holds only the dimensions that are known. ``error`` is the 95 % half-width of the remote share
    (0 when walked, None when nothing is known).
    """

    key: RankKey
    gpus: tuple[str, ...]
    home: NodeSet
    memory_home: NodeSet
    processes: tuple[PlacedProcess, ...]
    low_confidence: str | None = None
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
    mapped: Mapping[Backing, Mapping[int, int]] | None = None
    mapped_locality: Mapping[int, Locality | None] = field(default_factory=dict)
    private_shmem: Mapping[int, int] = field(default_factory=dict)
    estimates: Mapping[Backing, ClassEstimate] | None = None
    method: Literal["walk", "sample"] | None = None
    withheld: str | None = None
    error: float | None = None
    policy: str | None = None
    policy_bytes: Mapping[str, int] | None = None
    misalignment: Mapping[Dimension, float] = field(default_factory=dict)
    remote_bytes: Mapping[Dimension, int] = field(default_factory=dict)
    considered_bytes: Mapping[Dimension, int] = field(default_factory=dict)
    interrupts: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """A container, unit or job step that holds at least one GPU. ``helpers`` is a Rank of key uuid None.

    ``cpuset_by_locality`` counts the CPUs of the effective cpuset against the union of its ranks' homes; None where
    a home or the cpuset is unknown.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribution:
    """GPU processes by how far they could be attributed."""

    attributed: int = 0
    unattributed: int = 0
    denied: int = 0
    observer: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """The join of one Sample. ``machine`` is None until the topology was read once."""

    host: HostFacts
    taken_at: float
    monotonic: float
    machine: Machine | None
    workloads: tuple[Workload, ...] = ()
    observers: tuple[Observer, ...] = ()
    attribution: Attribution = field(default_factory=Attribution)
    ledger: Ledger = field(default_factory=Ledger)
    cgroup_layout: str | None = None
