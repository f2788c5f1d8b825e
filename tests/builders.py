"""Machines and processes by hand: what tests of join, findings and metrics read instead of a host.

    sample(two_socket(), task(100, gpus="GPU-0", mapped={"anon": {0: 3 * GIB, 1: GIB}}, cpu={0: 90.0}))

is a Sample of a host with two sockets and eight GPUs, four a socket, on which one process holds GPU-0.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from numa_exporter.formats import idlist
from numa_exporter.formats.pci_address import PciAddress
from numa_exporter.formats.workload_path import classify_path
from numa_exporter.model.gpus import Gpu, Gpus
from numa_exporter.model.ids import Backing, CpuSet, ProcessKey
from numa_exporter.model.machine import Device, Devices, NodeMemory, NumaNode, PciFunction, Topology
from numa_exporter.model.placement import Ledger, Placement
from numa_exporter.model.processes import (
    Cgroup,
    Cgroups,
    Evidence,
    GpuEvidence,
    MappedMemory,
    Memory,
    Process,
    Processes,
    ProcessThreads,
    ThreadGroup,
    Threads,
)
from numa_exporter.model.sample import HostFacts, Sample
from numa_exporter.model.thresholds import GIB, MIB, Settings
from numa_exporter.placement.join import join

__all__ = ["GIB", "MIB"]

NOON = 1_769_860_800.0
"""Wall-clock seconds of a sample taken ``at=0``; its monotonic stamp is 1000."""
ONE_GPU = 40 * GIB
VLLM = "/system.slice/vllm.service"
POD = "/kubepods.slice/kubepods-pod068e8fa0_9213_11e7_a01f_507b9d4141fa.slice"


def container(digit: str, pod: str = POD) -> str:
    """The cgroup of a pod's container whose id is that digit 64 times."""
    return f"{pod}/cri-containerd-{digit * 64}.scope"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """A machine as its sources tell it."""

    topology: Topology
    gpus: Gpus
    devices: Devices

    def with_gpus(self, *gpus: Gpu, nvml: bool = True) -> "Parts":
        return replace(self, gpus=replace(self.gpus, gpus=gpus, nvml=nvml))

    def change_gpus(self, **changes: object) -> "Parts":
        """Every GPU with these fields."""
        changed = tuple(replace(gpu, **changes) for gpu in self.gpus.gpus)  # type: ignore[arg-type]
        return replace(self, gpus=replace(self.gpus, gpus=changed))

    def change_topology(self, **changes: object) -> "Parts":
        return replace(self, topology=replace(self.topology, **changes))  # type: ignore[arg-type]


def cpus(text: str) -> CpuSet:
    """Kernel list text, such as ``0-15,32-47``."""
    return idlist.parse(text.encode(), "test")


def node(number: int, cpu_list: str, distances: Mapping[int, int], *, memory: int = 512 * GIB) -> NumaNode:
    return NumaNode(
        id=number,
        cpus=cpus(cpu_list),
        distances=distances,
        memory=NodeMemory(total_bytes=memory, free_bytes=memory // 2, reclaimable_bytes=memory // 4),
    )


def topology(*nodes: NumaNode, packages: Mapping[int, int] | None = None, **fields: object) -> Topology:
    """``packages``: package of every CPU of a node, by node id; a node that is left out has no package ids."""
    of_node = {} if packages is None else packages
    return Topology(
        nodes=nodes,
        online_cpus=frozenset().union(*(one.cpus for one in nodes)),
        packages={cpu: of_node[one.id] for one in nodes for cpu in one.cpus if one.id in of_node},
        has_memory=frozenset(one.id for one in nodes if one.memory and one.memory.total_bytes),
        **fields,  # type: ignore[arg-type]
    )


def function(bus: int, numa_node: int | None, bridge: str, pci_class: int = 0x030200) -> PciFunction:
    """A PCI function with ``bus``; ``bridge`` is the path of its switch port below /sys/devices."""
    address = PciAddress(domain=0, bus=bus, device=0, function=0)
    path = f"/sys/devices/{bridge}/{address}"
    return PciFunction(address=address, vendor=0x10DE, pci_class=pci_class, numa_node=numa_node, real_path=path)


def gpu(index: int, numa_node: int | None, **fields: object) -> Gpu:
    """GPU-``index``, alone below a switch of its node's host bridge."""
    side = numa_node or 0
    bridge = f"pci0000:{side * 64:02x}/0000:{side * 64:02x}:{index + 1:02x}.0/0000:{index + 0x10:02x}:00.0"
    nic_port = f"{bridge}/0000:{index + 0x20:02x}:00.0"
    return Gpu(
        uuid=f"GPU-{index}",
        vendor="nvidia",
        index=index,
        model="NVIDIA H100 80GB HBM3",
        function=function(index + 0x30, numa_node, nic_port),
        contexts=(),
        **fields,  # type: ignore[arg-type]
    )


def nic(index: int, beside: Gpu, interrupts: Mapping[int, int] | None = None) -> Device:
    """mlx5_``index`` at the switch of a GPU (PIX)."""
    assert beside.function is not None
    switch = beside.function.real_path.removeprefix("/sys/devices/").rsplit("/", 2)[0]
    place = function(index + 0x60, beside.function.numa_node, f"{switch}/0000:{index + 0x50:02x}:01.0", 0x020700)
    return Device(name=f"mlx5_{index}", device_class="rdma", function=place, interrupts=interrupts)


def _parts(machine: Topology, gpus: Sequence[Gpu], nics: Iterable[int] = ()) -> Parts:
    devices = tuple(nic(number, gpus[number]) for number in nics)
    return Parts(
        topology=machine,
        gpus=Gpus(gpus=tuple(gpus), driver_version="550.54.15", nvml=True),
        devices=Devices(devices=devices),
    )


def two_socket(gpus: int = 8) -> Parts:
    """Two sockets of one node each (CPUs 0-15,32-47 and 16-31,48-63), half of the GPUs on each, a NIC for each."""
    nodes = node(0, "0-15,32-47", {0: 10, 1: 21}), node(1, "16-31,48-63", {0: 21, 1: 10})
    cards = [gpu(index, 0 if index < (gpus + 1) // 2 else 1) for index in range(gpus)]
    return _parts(topology(*nodes, packages={0: 0, 1: 1}), cards, range(gpus))


def nps4() -> Parts:
    """Two sockets of four nodes each, 8 CPUs a node; GPU-N beside node N."""
    nodes = [
        node(
            own,
            f"{own * 8}-{own * 8 + 7}",
            {to: 10 if to == own else 12 if to // 4 == own // 4 else 32 for to in range(8)},
        )
        for own in range(8)
    ]
    return _parts(topology(*nodes, packages={own: own // 4 for own in range(8)}), [gpu(own, own) for own in range(8)])


def single_node(gpus: int = 1) -> Parts:
    """One socket, one node, no _PXM: the GPUs' numa_node is -1."""
    return _parts(topology(node(0, "0-7", {0: 10}), packages={0: 0}), [gpu(index, None) for index in range(gpus)])


def memory_only() -> Parts:
    """Two sockets, and CXL memory: node 2 behind socket 0, node 3 as far from one as from the other."""
    nodes = (
        node(0, "0-7", {0: 10, 1: 21, 2: 14, 3: 30}),
        node(1, "8-15", {0: 21, 1: 10, 2: 24, 3: 30}),
        node(2, "", {0: 14, 1: 24, 2: 10, 3: 40}),
        node(3, "", {0: 30, 1: 30, 2: 40, 3: 10}),
    )
    return _parts(topology(*nodes, packages={0: 0, 1: 1}), [gpu(0, 0), gpu(1, 1)])


def gb200() -> Parts:
    """Two Grace CPUs (nodes 0, 1), four GPUs whose memory is nodes 2, 10, 18, 26, and 28 empty nodes beside those."""
    sides = {memory: 0 if memory < 18 else 1 for memory in range(2, 34)}

    def distance(one: int, other: int) -> int:
        if one == other:
            return 10
        return 40 if {one, other} == {0, 1} else 80 if sides.get(one, one) == sides.get(other, other) else 120

    everything = range(34)
    nodes = [
        node(
            own,
            {0: "0-71", 1: "72-143"}.get(own, ""),
            {to: distance(own, to) for to in everything},
            memory=480 * GIB if own < 2 else 186 * GIB if own in (2, 10, 18, 26) else 0,
        )
        for own in everything
    ]
    cards = [
        gpu(
            index,
            index // 2,
            memory_node=2 + 8 * index,
            c2c=True,
            nvml_affinity=cpus("0,3-9,11-17" if index < 2 else "1,19-25,27-33"),
        )
        for index in range(4)
    ]
    machine = topology(*nodes, packages={0: 0, 1: 1}, has_generic_initiator=frozenset(range(2, 34)))
    return _parts(machine, cards, range(4))


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A process with its CPU side and its pages."""

    process: Process
    threads: ProcessThreads | None = None
    memory: MappedMemory | None = None


def task(
    pid: int,
    *,
    gpus: str | Mapping[str, int | None] | None = None,
    evidence: Evidence = "nvml",
    cgroup: str = VLLM,
    comm: str = "python3",
    mapped: Mapping[Backing, Mapping[int, int]] | None = None,
    segments: Mapping[str, Mapping[int, int]] | None = None,
    cpu: Mapping[int, float] | None = None,
    moved: float = 0.0,
    allowed: str | None = None,
    started: float = NOON - 3600,
    **fields: object,
) -> Task:
    """A process. ``gpus``: one UUID (40 GiB used) or used bytes by UUID. ``cpu``: CPU seconds by node since first seen,
    ``allowed``: its one mask."""
    held = {gpus: ONE_GPU} if isinstance(gpus, str) else dict(gpus or {})
    workload = classify_path(cgroup)
    process = Process(
        key=ProcessKey(pid=pid, start_ticks=pid * 10),
        ppid=1,
        comm=comm,
        cgroup=workload,
        container_cgroup=workload.directory,
        cpuset_cgroup=workload.directory,
        threads=1,
        cpu_seconds=sum((cpu or {}).values()),
        start_time=started,
        evidence=tuple(
            GpuEvidence(uuid=uuid, evidence=evidence, used_bytes=used, opened_compute=evidence == "fd")
            for uuid, used in held.items()
        ),
    )
    known = cpu is not None or allowed is not None
    return Task(
        process=replace(process, **fields),  # type: ignore[arg-type]
        threads=threads(thread_group(allowed or "0-1023", cpu), cpu=cpu, moved=moved) if known else None,
        memory=walked(mapped, segments) if mapped is not None else None,
    )


def thread_group(
    allowed: str,
    window: Mapping[int, float] | None = None,
    *,
    main: bool = True,
    count: int = 1,
    busy: int | None = None,
) -> ThreadGroup:
    """Threads of one mask; ``window``: CPU seconds by node in the last window."""
    spent = dict(window or {})
    return ThreadGroup(
        allowed=cpus(allowed),
        threads=count,
        busy=count if busy is None else busy,
        has_main=main,
        window_seconds=spent,
        ran_on=dict.fromkeys((where for where, seconds in spent.items() if seconds), count),
    )


def threads(
    *groups: ThreadGroup, cpu: Mapping[int, float] | None = None, moved: float = 0.0, window: float = 15.0
) -> ProcessThreads:
    count = sum(group.threads for group in groups)
    return ProcessThreads(
        groups=groups,
        cpu_seconds=dict(cpu or {}),
        moved_seconds=moved,
        exact=False,
        threads=count,
        looked_at=count,
        window=window,
    )


def walked(
    mapped: Mapping[Backing, Mapping[int, int]], segments: Mapping[str, Mapping[int, int]] | None = None
) -> MappedMemory:
    """Pages read in full."""
    resident = sum(sum(by_node.values()) for by_node in mapped.values())
    return MappedMemory(method="walk", mapped=mapped, resident_bytes=resident, segments=segments or {})


def sample(parts: Parts, *tasks: Task, at: float = 0.0, cgroups: Iterable[Cgroup] = (), **fields: object) -> Sample:
    """Everything a host said ``at`` seconds after noon."""
    whole = Sample(
        host=HostFacts(nodename="test", mode="simulated", boot_id="b", kernel="6.12"),
        taken_at=NOON + at,
        monotonic=1000.0 + at,
        topology=replace(parts.topology, read_at=NOON + at),
        gpus=replace(parts.gpus, contexts_at=NOON + at),
        processes=Processes(processes=tuple(one.process for one in tasks)),
        threads=Threads(by_process={one.process.key: one.threads for one in tasks if one.threads}),
        cgroups=Cgroups(by_path={one.path: one for one in cgroups}, layout="v2"),
        memory=Memory(by_process={one.process.key: one.memory for one in tasks if one.memory}),
        devices=replace(parts.devices, read_at=NOON + at),
    )
    return replace(whole, **fields)  # type: ignore[arg-type]


def placed(*samples: Sample, settings: Settings | None = None) -> Placement:
    """The placement of the last of these samples, each joined with the ledger that the one before left."""
    ledger = Ledger()
    result: Placement | None = None
    for one in samples:
        result = join(one, ledger, settings or Settings())
        ledger = result.ledger
    assert result is not None
    return result
