"""NUMA nodes as they stand: their kind, the CPU nodes nearest to those without CPUs, and the sockets.

Documentation/ABI/stable/sysfs-devices-node, Documentation/admin-guide/cputopology.rst (physical_package_id).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from numa_exporter.model.ids import CpuSet
from numa_exporter.model.machine import NumaNode, Topology
from numa_exporter.model.placement import NodeKind, PlacedNode, SocketsUnknown


def place_nodes(
    topology: Topology, gpu_memory_nodes: frozenset[int]
) -> tuple[tuple[PlacedNode, ...], SocketsUnknown | None]:
    """The nodes in order of their ids, and why their sockets are unknown (None where they are known)."""
    bare = [_bare(node, topology, gpu_memory_nodes) for node in sorted(topology.nodes, key=lambda node: node.id)]
    with_cpus = [placed for placed in bare if placed.kind == "cpu"]
    unknown = _sockets_unknown(with_cpus, topology.packages)
    # Every node lies in one package here, so nodes of one package are a socket and its id is the package's.
    sockets = {
        placed.id: None if unknown else topology.packages[min(placed.online_cpus)]
        for placed in with_cpus
        if placed.online_cpus
    }
    return tuple(_beside_cpus(placed, with_cpus, sockets) for placed in bare), unknown


def nearest(node: NumaNode, others: Sequence[PlacedNode]) -> tuple[int, ...]:
    """Ids of the nodes at the least distance from ``node``; empty where no distance is known."""
    distances = {other.id: _distance(other.node, node) for other in others}
    known = {other: distance for other, distance in distances.items() if distance is not None}
    least = min(known.values(), default=None)
    return tuple(other for other, distance in known.items() if distance == least)


def in_one_place(placed: PlacedNode) -> bool:
    """Whether the CPU nodes nearest to it are one node or of one socket: a tie across sockets says nothing."""
    return len(placed.nearest) == 1 or (bool(placed.nearest) and placed.socket is not None)


def node_of_cpu(nodes: Iterable[PlacedNode]) -> dict[int, int]:
    """Node of every online CPU."""
    return {cpu: placed.id for placed in nodes for cpu in placed.online_cpus}


def _bare(node: NumaNode, topology: Topology, gpu_memory_nodes: frozenset[int]) -> PlacedNode:
    generic_initiators = topology.has_generic_initiator or frozenset()
    kind: NodeKind = "memory"
    online = node.cpus & topology.online_cpus
    if online:
        kind = "cpu"
    elif node.id in gpu_memory_nodes or node.id in generic_initiators:
        # GH200 and GB200 declare up to eight generic initiators a GPU (MIG slots), most without a byte of memory.
        kind = "gpu"
    return PlacedNode(
        node=node,
        kind=kind,
        socket=None,
        online_cpus=online,
        has_memory=_has_memory(node, topology),
    )


def _has_memory(node: NumaNode, topology: Topology) -> bool:
    if topology.has_memory is not None:
        return node.id in topology.has_memory
    return node.memory is None or node.memory.total_bytes > 0


def _sockets_unknown(with_cpus: Sequence[PlacedNode], packages: Mapping[int, int]) -> SocketsUnknown | None:
    online: CpuSet = frozenset().union(*(placed.online_cpus for placed in with_cpus))
    if not online:
        return "no_cpus"
    if not online <= packages.keys():
        return "package_missing"
    if len(online) > 1 and len({packages[cpu] for cpu in online}) == len(online):
        return "package_per_cpu"
    if any(len({packages[cpu] for cpu in placed.online_cpus}) > 1 for placed in with_cpus):
        return "node_spans_packages"
    return None


def _beside_cpus(placed: PlacedNode, with_cpus: Sequence[PlacedNode], sockets: Mapping[int, int | None]) -> PlacedNode:
    near = (placed.id,) if placed.kind == "cpu" else nearest(placed.node, with_cpus)
    reached = {sockets.get(node) for node in near}
    return replace(placed, nearest=near, socket=reached.pop() if len(reached) == 1 else None)


def _distance(origin: NumaNode, target: NumaNode) -> int | None:
    """From a node with CPUs, for they do the accessing; firmware may fill in only one direction."""
    return origin.distances.get(target.id, target.distances.get(origin.id))
