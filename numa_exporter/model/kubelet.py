"""What the kubelet promised: its own files and answers as they are, and what they come to when they are joined."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from numa_exporter.formats.kubelet_config import KubeletConfig
from numa_exporter.formats.kubelet_state import CpuManagerState, DeviceCheckpoint, MemoryManagerState
from numa_exporter.formats.podresources import Allocatable, PodResources
from numa_exporter.model.ids import CpuSet, NodeSet, WorkloadKey
from numa_exporter.model.thresholds import KUBELET_ROOT

AlignmentPolicy = Literal["any", "restricted", "single-numa-node"]
"""What a request must find: any free GPUs; as few nodes as it could ever have; a single node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kubelet:
    """Everything that one look found; None for what is not there or could not be read.

    ``config`` is the file with what flags change; where the command line was read too, with the kubelet's defaults.
    ``config_path`` is the file, or the command line where there is none.
    ``pods`` and ``allocatable`` are PodResources' answers. ``living``: UIDs of the pods that have a cgroup; a
    checkpoint keeps pods that ended until somebody needs their devices.
    """

    cpu: CpuManagerState | None = None
    memory: MemoryManagerState | None = None
    devices: DeviceCheckpoint | None = None
    config: KubeletConfig | None = None
    config_path: str | None = None
    pods: tuple[PodResources, ...] | None = None
    allocatable: Allocatable | None = None
    living: frozenset[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Policies:
    """The managers' policies in force as far as they are known, all in lower case. State files beat the configuration:
    they are written by the kubelet that runs. ``configured_cpu_manager`` is what the configuration asks for,
    ``path`` where that is read."""

    cpu_manager: str | None = None
    memory_manager: str | None = None
    topology_manager: str | None = None
    topology_scope: str | None = None
    configured_cpu_manager: str | None = None
    path: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantedGpu:
    """A GPU that was granted, whole or in part, and the device id that says so."""

    uuid: str
    device: str
    mig_uuid: str | None = None
    gpu_instance_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryGrant:
    """A block of the memory manager; ``memory_type`` is ``memory`` or ``hugepages-2Mi`` and the like."""

    memory_type: str
    nodes: NodeSet
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """What one container was promised. ``container`` is None for what the pod as a whole was (KEP-5526).

    ``cpus`` are exclusive ones; empty = none, and the container shares the pool. ``unknown_devices`` are ids of GPU
    resources that name no GPU of this machine.
    """

    key: WorkloadKey
    pod_uid: str | None = None
    container: str | None = None
    container_id: str | None = None
    cpus: CpuSet = frozenset()
    gpus: tuple[GrantedGpu, ...] = ()
    memory: tuple[MemoryGrant, ...] = ()
    unknown_devices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Promises:
    """The join of it. ``shared_cpus`` is the pool of all who have no exclusive CPUs, None where unknown.

    ``granted``: every healthy, allocatable GPU, and whether somebody was granted it. ``usable`` and ``stranded`` count
    GPUs, by size of the request; sizes are alternatives. ``cpuset_agent``: a pod that writes cpusets beside the
    kubelet (an NRI policy, Katalyst, Koordinator), whose doings are not the kubelet's broken word. ``root``: where the
    kubelet's state files lie.
    """

    policies: Policies = field(default_factory=Policies)
    grants: tuple[Grant, ...] = ()
    shared_cpus: CpuSet | None = None
    granted: Mapping[str, bool] = field(default_factory=dict)
    usable: Mapping[tuple[int, AlignmentPolicy], int] = field(default_factory=dict)
    stranded: Mapping[int, int] = field(default_factory=dict)
    cpuset_agent: str | None = None
    root: str = KUBELET_ROOT
