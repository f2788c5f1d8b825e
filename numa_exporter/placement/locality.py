"""Locality of a node against a home, and the homes themselves."""

from collections.abc import Iterable, Mapping

from numa_exporter.model.ids import CpuSet, Locality, NodeSet
from numa_exporter.model.placement import Machine, PlacedNode
from numa_exporter.placement.nodes import nearest


def home_of(machine: Machine, uuids: Iterable[str]) -> NodeSet:
    """The union of the GPUs' affinities; empty where one of them is unknown."""
    placed = [machine.gpu(uuid) for uuid in uuids]
    if not all(gpu and gpu.affinity for gpu in placed):
        return frozenset()
    return frozenset(node for gpu in placed if gpu for node in gpu.affinity)


def memory_home_of(machine: Machine, home: NodeSet) -> NodeSet:
    """The home nodes that have memory; a home without any keeps its memory on the nearest nodes that have some."""
    own = frozenset(placed.id for placed in machine.nodes if placed.id in home and placed.has_memory)
    if own or not home:
        return own
    # A GPU's memory is nobody's ordinary memory, however near it is.
    candidates = [placed for placed in machine.nodes if placed.has_memory and placed.kind != "gpu"]
    return frozenset(near for placed in machine.nodes if placed.id in home for near in nearest(placed.node, candidates))


def localities(machine: Machine, home: NodeSet, own_gpus: Iterable[str] = ()) -> dict[int, Locality | None]:
    """Locality of every node. None where it cannot be told: no home, or a node as near to one socket as to another.

    Where sockets are unknown only ``local`` and ``remote`` exist. ``own_gpus``: whose memory nodes are ``device``.
    """
    nodes = {placed.id: placed for placed in machine.nodes}
    if not home:
        return dict.fromkeys(nodes)
    home_sockets = frozenset(nodes[node].socket for node in home if node in nodes) - {None}
    of_cpu_node: dict[int, Locality] = {
        placed.id: "local" if placed.id in home else "socket" if placed.socket in home_sockets else "remote"
        for placed in machine.nodes
        if placed.kind == "cpu"
    }
    found: dict[int, Locality | None] = dict(of_cpu_node)
    for placed in machine.nodes:
        if placed.kind == "memory":
            found[placed.id] = "local" if placed.id in home else _of_memory_node(placed, of_cpu_node, home_sockets)
        elif placed.kind == "gpu":
            found[placed.id] = _of_gpu_node(placed, machine, of_cpu_node, frozenset(own_gpus))
    return found


def counted(machine: Machine, home: NodeSet, by_node: Mapping[int, int]) -> dict[Locality, int]:
    """Counts by locality with the known zeros: local and remote always, socket where a socket has several nodes."""
    found: dict[Locality, int] = {"local": 0}
    if any(len(socket.nodes) > 1 for socket in machine.sockets):
        found["socket"] = 0
    found["remote"] = 0
    of = localities(machine, home)
    for node, count in by_node.items():
        locality = of.get(node)
        if locality is not None:
            found[locality] = found.get(locality, 0) + count
    return found


def cpus_by_node(machine: Machine, cpus: CpuSet) -> dict[int, int]:
    """How many online CPUs of a set each node has."""
    shares = ((placed.id, len(placed.online_cpus & cpus)) for placed in machine.nodes)
    return {node: count for node, count in shares if count}


def covers_all(machine: Machine, home: NodeSet) -> bool:
    """Whether a home covers every socket of several: then nothing can be told.

    Where sockets are unknown: every node of several, or the one node that spans packages (NPS0). A single node whose
    CPUs all claim their own package is a virtual machine without topology: nothing is remote there.
    """
    with_cpus = [placed for placed in machine.nodes if placed.kind == "cpu"]
    if machine.sockets:
        reached = {placed.socket for placed in with_cpus if placed.id in home}
        return len(machine.sockets) > 1 and len(reached) == len(machine.sockets)
    if not home.issuperset(placed.id for placed in with_cpus):
        return False
    return len(with_cpus) > 1 or machine.sockets_unknown == "node_spans_packages"


def _of_memory_node(
    placed: PlacedNode, of_cpu_node: Mapping[int, Locality], home_sockets: frozenset[int | None]
) -> Locality | None:
    """At best ``socket``: nobody computes there."""
    found = {of_cpu_node[node] for node in placed.nearest}
    if found == {"remote"}:
        return "remote"
    near = bool(found) and "remote" not in found
    return "socket" if near and home_sockets else None


def _of_gpu_node(
    placed: PlacedNode, machine: Machine, of_cpu_node: Mapping[int, Locality], own_gpus: frozenset[str]
) -> Locality | None:
    """``device`` for one's own GPU, else the class of the CPU node of the GPU that it belongs to."""
    owner = next((gpu for gpu in machine.gpus if gpu.gpu.memory_node == placed.id), None)
    if owner and owner.uuid in own_gpus:
        return "device"
    beside = owner.affinity if owner and owner.affinity else placed.nearest
    found = {of_cpu_node[node] for node in beside}
    return found.pop() if len(found) == 1 else None
