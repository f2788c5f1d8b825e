"""What the host said of itself: nodes, CPUs, devices, traffic. Bytes and seconds throughout; unknown is None."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from numa_exporter.formats.pci_address import PciAddress
from numa_exporter.model.ids import CpuSet, NodeSet


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeMemory:
    """nodeN/meminfo. ``reclaimable_bytes`` = file LRU + SReclaimable; None where the kernel lacks the keys."""

    total_bytes: int
    free_bytes: int | None = None
    reclaimable_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HugePagePool:
    """nodeN/hugepages/hugepages-*kB."""

    page_bytes: int
    total_bytes: int
    free_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NumaNode:
    """One /sys/devices/system/node/nodeN. ``cpus`` is cpulist as written, not cut to the online ones."""

    id: int
    cpus: CpuSet
    distances: Mapping[int, int] = field(default_factory=dict)
    memory: NodeMemory | None = None
    hugepages: tuple[HugePagePool, ...] = ()
    numastat: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Balancing:
    """kernel.numa_balancing, vm.zone_reclaim_mode (bit masks) and /proc/vmstat's NUMA counters."""

    mode: int | None = None
    zone_reclaim_mode: int | None = None
    hint_faults: int | None = None
    hint_faults_local: int | None = None
    pages_migrated: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Topology:
    """The machine as /sys/devices/system and /proc/stat tell it.

    ``packages`` maps each CPU to its physical_package_id; a CPU whose file is missing or says -1 is absent.
    ``cpu_seconds`` maps each online CPU to seconds by mode (user, nice, system, idle, iowait, irq, softirq, steal).
    The ``has_*`` sets are None where the kernel does not have the file.
    """

    nodes: tuple[NumaNode, ...]
    online_cpus: CpuSet
    packages: Mapping[int, int] = field(default_factory=dict)
    cpu_seconds: Mapping[int, Mapping[str, float]] = field(default_factory=dict)
    possible_nodes: NodeSet | None = None
    has_cpu: NodeSet | None = None
    has_memory: NodeSet | None = None
    has_generic_initiator: NodeSet | None = None
    isolated_cpus: CpuSet = frozenset()
    balancing: Balancing = field(default_factory=Balancing)
    hypervisor: bool | None = None
    page_bytes: int = 4096
    huge_page_bytes: int | None = None
    boot_time: float | None = None
    clock_ticks: int = 100
    read_at: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PciFunction:
    """One physical PCI function. ``numa_node`` is None for -1 or a missing file; ``real_path`` is its place in
    /sys/devices, from which PCIe path classes are told; widths are lanes."""

    address: PciAddress
    vendor: int
    pci_class: int
    numa_node: int | None
    real_path: str
    link_width: int | None = None
    max_link_width: int | None = None
    upstream_max_link_width: int | None = None
    iommu: str | None = None
    driver: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """A NIC, RDMA device, NVMe controller or GPU with its fired interrupts (count by CPU since boot)."""

    name: str
    device_class: str
    function: PciFunction
    interrupts: Mapping[int, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Devices:
    """Physical functions that matter beside a GPU, GPUs themselves included (class ``gpu``)."""

    devices: tuple[Device, ...]
    read_at: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TrafficDomain:
    """One resctrl L3 domain: bytes since mount; None where the kernel said Unavailable or Error."""

    domain: str
    cpus: CpuSet
    total_bytes: int | None
    local_bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """resctrl memory-bandwidth monitoring, read only where somebody mounted it."""

    domains: tuple[TrafficDomain, ...]
