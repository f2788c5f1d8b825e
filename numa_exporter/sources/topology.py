"""Nodes, CPUs, packages, memory and CPU time: /sys/devices/system, /proc/stat and a few sysctls.

Read each tick, for CPU time and allocation counters must be fresh; what cannot change so fast (which CPUs, which
packages, which distances) is kept for a minute. A file that is missing or garbled makes only its own part unknown.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from numa_exporter.formats import (
    auxv,
    cpuinfo,
    cpumask,
    distance,
    idlist,
    meminfo,
    node_meminfo,
    node_numastat,
    number,
    page_size,
    proc_stat,
    vmstat,
)
from numa_exporter.model.ids import CpuSet, NodeSet
from numa_exporter.model.machine import Balancing, HugePagePool, NodeMemory, NumaNode, Topology
from numa_exporter.model.sample import Sample
from numa_exporter.sources.host import Host
from numa_exporter.sources.look import Look
from numa_exporter.sources.source import Outcome

LAYOUT_SECONDS = 60.0
"""How long the layout is kept. 512 CPUs are as many files."""

NODES = "/sys/devices/system/node"
CPUS = "/sys/devices/system/cpu"

_NODE = re.compile(r"node([0-9]+)")
_CPU = re.compile(r"cpu([0-9]+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The part that stands still. ``cpus`` and ``distances`` by node; ``online_cpus`` None where not told."""

    cpus: Mapping[int, CpuSet]
    distances: Mapping[int, Mapping[int, int]]
    online_cpus: CpuSet | None
    packages: Mapping[int, int]
    isolated_cpus: CpuSet
    possible_nodes: NodeSet | None
    has_cpu: NodeSet | None
    has_memory: NodeSet | None
    has_generic_initiator: NodeSet | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Constants:
    """The part that a running kernel never changes."""

    hypervisor: bool | None
    page_bytes: int
    clock_ticks: int


class TopologyReader:
    """Reader of Topology. No node directory (a kernel without NUMA) is no nodes, and no failure."""

    def __init__(self) -> None:
        self._constants: Constants | None = None
        self._layout: Layout | None = None
        self._layout_at = 0.0

    def read(self, host: Host, sample: Sample) -> Outcome[Topology]:
        now = host.now("topology")
        look = Look(host)
        constants = self._constants = self._constants or read_constants(look)
        layout = self._layout
        if layout is None or now.monotonic - self._layout_at >= LAYOUT_SECONDS:
            layout = read_layout(look)
            # A broken layout is looked at again in the next tick.
            self._layout, self._layout_at = None if look.failure else layout, now.monotonic
        stat = look.file("/proc/stat", proc_stat.parse)
        seconds = (
            {cpu: proc_stat.seconds(ticks, constants.clock_ticks) for cpu, ticks in stat.cpus.items()} if stat else {}
        )
        memory = look.file("/proc/meminfo", meminfo.parse)
        value = Topology(
            nodes=tuple(read_node(look, layout, node) for node in sorted(layout.cpus)),
            online_cpus=_online(layout, seconds),
            packages=layout.packages,
            cpu_seconds=seconds,
            possible_nodes=layout.possible_nodes,
            has_cpu=layout.has_cpu,
            has_memory=layout.has_memory,
            has_generic_initiator=layout.has_generic_initiator,
            isolated_cpus=layout.isolated_cpus,
            balancing=read_balancing(look),
            hypervisor=constants.hypervisor,
            page_bytes=constants.page_bytes,
            huge_page_bytes=memory.huge_page_bytes if memory else None,
            boot_time=stat.boot_time if stat else None,
            clock_ticks=constants.clock_ticks,
            read_at=now.wall,
        )
        return Outcome(value=value, failure=look.failure, counts=look.failures.counts)


def read_constants(look: Look) -> Constants:
    """/proc/cpuinfo is read once only: on kernels before 5.18 it interrupts every CPU to ask for its frequency."""
    cpu = look.file("/proc/cpuinfo", cpuinfo.parse)
    vector = look.file("/proc/self/auxv", auxv.parse)
    return Constants(
        hypervisor=cpu.hypervisor if cpu else None,
        page_bytes=vector.page_bytes if vector else 4096,
        clock_ticks=vector.clock_ticks if vector else 100,
    )


def read_layout(look: Look) -> Layout:
    nodes = online_nodes(look)
    possible = look.file(f"{NODES}/possible", idlist.parse)
    online_cpus = look.file(f"{CPUS}/online", idlist.parse)
    return Layout(
        cpus={node: cpus for node in sorted(nodes) if (cpus := cpus_of_node(look, node)) is not None},
        distances={node: _distances(look, node, nodes, possible) for node in nodes},
        online_cpus=online_cpus,
        packages=_packages(look, online_cpus),
        isolated_cpus=look.file(f"{CPUS}/isolated", idlist.parse) or frozenset(),
        possible_nodes=possible,
        has_cpu=look.file(f"{NODES}/has_cpu", idlist.parse),
        has_memory=look.file(f"{NODES}/has_memory", idlist.parse),
        has_generic_initiator=look.file(f"{NODES}/has_generic_initiator", idlist.parse),
    )


def online_nodes(look: Look) -> NodeSet:
    """Sparse ids, never range(n). Kernels before 2.6.29 have no ``online``: then every directory is a node."""
    online = look.file(f"{NODES}/online", idlist.parse)
    if online is not None:
        return online
    return frozenset(int(match[1]) for name in look.names(NODES) if (match := _NODE.fullmatch(name)))


def cpus_of_node(look: Look, node: int) -> CpuSet | None:
    """The list, else the mask (all that kernels before 2.6.32 have), else the links to the CPUs. None for a node that
    has no directory, as in half of a captured tree: of that one nothing is known."""
    folder = f"{NODES}/node{node}"
    cpus = look.file(f"{folder}/cpulist", idlist.parse)
    if cpus is None:
        cpus = look.file(f"{folder}/cpumap", cpumask.parse)
    if cpus is None:
        names = look.names(folder)
        cpus = frozenset(int(match[1]) for name in names if (match := _CPU.fullmatch(name))) if names else None
    return cpus


def _distances(look: Look, node: int, online: NodeSet, possible: NodeSet | None) -> Mapping[int, int]:
    """A row has a column for each online node; one that is as long as the possible ones was read before or after
    the others came online."""

    def parse(data: bytes, path: str) -> dict[int, int]:
        whole = possible is not None and len(data.split()) == len(possible)
        return distance.parse(data, path, possible if possible is not None and whole else online)

    return look.file(f"{NODES}/node{node}/distance", parse) or {}


def _packages(look: Look, online: CpuSet | None) -> Mapping[int, int]:
    """physical_package_id by CPU; -1 is a firmware that does not say."""
    if online is None:
        names = [match for name in look.names(CPUS) if (match := _CPU.fullmatch(name))]
        online = frozenset(int(match[1]) for match in names)
    packages = {cpu: look.file(f"{CPUS}/cpu{cpu}/topology/physical_package_id", number.parse) for cpu in sorted(online)}
    return {cpu: package for cpu, package in packages.items() if package is not None and package >= 0}


def _online(layout: Layout, seconds: Mapping[int, object]) -> CpuSet:
    """/proc/stat has a line for each online CPU: there on the oldest kernels too."""
    if layout.online_cpus is not None:
        return layout.online_cpus
    return frozenset(seconds) or frozenset().union(*layout.cpus.values())


def read_node(look: Look, layout: Layout, node: int) -> NumaNode:
    folder = f"{NODES}/node{node}"
    return NumaNode(
        id=node,
        cpus=layout.cpus[node],
        distances=layout.distances[node],
        memory=_memory(look, f"{folder}/meminfo"),
        hugepages=_hugepages(look, f"{folder}/hugepages"),
        numastat=look.file(f"{folder}/numastat", node_numastat.parse) or {},
    )


def _memory(look: Look, path: str) -> NodeMemory | None:
    found = look.file(path, node_meminfo.parse)
    if found is None:
        return None
    return NodeMemory(
        total_bytes=found.total_bytes, free_bytes=found.free_bytes, reclaimable_bytes=found.reclaimable_bytes
    )


def _hugepages(look: Look, folder: str) -> tuple[HugePagePool, ...]:
    pools = []
    for name in look.names(folder):
        size = page_size.from_sysfs(name)
        if size is None:
            continue
        total = look.file(f"{folder}/{name}/nr_hugepages", number.parse)
        free = look.file(f"{folder}/{name}/free_hugepages", number.parse)
        if total is not None and free is not None:
            pools.append(HugePagePool(page_bytes=size, total_bytes=total * size, free_bytes=free * size))
    return tuple(sorted(pools, key=lambda pool: pool.page_bytes))


def read_balancing(look: Look) -> Balancing:
    counters = look.file("/proc/vmstat", vmstat.parse)
    return Balancing(
        mode=look.file("/proc/sys/kernel/numa_balancing", number.parse),
        zone_reclaim_mode=look.file("/proc/sys/vm/zone_reclaim_mode", number.parse),
        hint_faults=counters.numa_hint_faults if counters else None,
        hint_faults_local=counters.numa_hint_faults_local if counters else None,
        pages_migrated=counters.numa_pages_migrated if counters else None,
    )
