"""Locality: what a node is to a home."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from numa_exporter.model.ids import CpuSet, Locality, NodeSet
from numa_exporter.model.placement import Machine, PlacedNode
from numa_exporter.placement.nodes import nearest

Localities = Mapping[int, Locality | None]
"""Locality of every node. None where it cannot be told: no home, or a node as near to one socket as to another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """A home with everything that is set against it. ``nodes`` is empty where an affinity is unknown.

    ``on_cpu`` is for threads; ``in_memory`` for pages, against ``memory_nodes``; ``cpus`` are the online ones of each
    locality that a CPU can have here.
    ``indistinct``: it covers every socket of several, so that nothing can be told.
    """

    nodes: NodeSet
    memory_nodes: NodeSet
    on_cpu: Localities
    in_memory: Localities
    cpus: Mapping[Locality, CpuSet]
    indistinct: bool


def home(machine: Machine, uuids: Iterable[str]) -> Home:
    """The home of whoever computes on these GPUs: the union of their affinities."""
    own = frozenset(uuids)
    nodes = _union(machine, own)
    memory_nodes = _memory_nodes(machine, nodes)
    on_cpu = localities(machine, nodes)
    return Home(
        nodes=nodes,
        memory_nodes=memory_nodes,
        on_cpu=on_cpu,
        in_memory=localities(machine, memory_nodes, own, around=nodes),
        cpus={locality: _online(machine, on_cpu, locality) for locality in counted(machine, on_cpu, {})},
        indistinct=_covers_all(machine, nodes),
    )


def localities(
    machine: Machine, nodes: NodeSet, own_gpus: frozenset[str] = frozenset(), *, around: NodeSet = frozenset()
) -> dict[int, Locality | None]:
    """Against these home nodes. Where sockets are unknown only ``local`` and ``remote`` exist.

    ``own_gpus``: whose memory nodes are ``device``. ``around``: home nodes that are none of memory, whose sockets are
    home sockets all the same.
    """
    sockets = frozenset(placed.socket for placed in machine.nodes if placed.id in nodes | around) - {None}
    if not nodes:
        return {placed.id: None for placed in machine.nodes}
    of_cpu_node: dict[int, Locality] = {
        placed.id: "local" if placed.id in nodes else "socket" if placed.socket in sockets else "remote"
        for placed in machine.nodes
        if placed.kind == "cpu"
    }
    found: dict[int, Locality | None] = dict(of_cpu_node)
    for placed in machine.nodes:
        if placed.kind == "memory":
            found[placed.id] = "local" if placed.id in nodes else _of_memory_node(placed, of_cpu_node, bool(sockets))
        elif placed.kind == "gpu":
            found[placed.id] = _of_gpu_node(placed, machine, of_cpu_node, own_gpus)
    return found


def counted(machine: Machine, of: Localities, by_node: Mapping[int, int]) -> dict[Locality, int]:
    """Counts by locality with the known zeros: local and remote always, socket where a socket has several nodes."""
    found: dict[Locality, int] = {"local": 0}
    if any(len(socket.nodes) > 1 for socket in machine.sockets):
        found["socket"] = 0
    found["remote"] = 0
    for node, count in by_node.items():
        locality = of.get(node)
        if locality is not None:
            found[locality] = found.get(locality, 0) + count
    return found


def cpus_counted(home: Home, cpus: CpuSet) -> dict[Locality, int]:
    """How many online CPUs of a set are of each locality."""
    return {locality: len(own & cpus) for locality, own in home.cpus.items()}


def _online(machine: Machine, of: Localities, locality: Locality) -> CpuSet:
    return frozenset().union(*(placed.online_cpus for placed in machine.nodes if of[placed.id] == locality))


def _union(machine: Machine, uuids: Iterable[str]) -> NodeSet:
    affinities = [gpu.affinity if (gpu := machine.gpu(uuid)) else () for uuid in uuids]
    return frozenset(node for nodes in affinities for node in nodes) if all(affinities) else frozenset()


def _memory_nodes(machine: Machine, nodes: NodeSet) -> NodeSet:
    """The home nodes that have memory; a home without any keeps its memory on the nearest nodes that have some."""
    own = frozenset(placed.id for placed in machine.nodes if placed.id in nodes and placed.has_memory)
    if own or not nodes:
        return own
    # A GPU's memory is nobody's ordinary memory, however near it is.
    others = [placed for placed in machine.nodes if placed.has_memory and placed.kind != "gpu"]
    return frozenset(near for placed in machine.nodes if placed.id in nodes for near in _nearest(placed, others))


def _nearest(placed: PlacedNode, others: Sequence[PlacedNode]) -> Sequence[int]:
    """On a tie those of its own socket: a kernel without a distance table says 20 for every other node."""
    near = nearest(placed.node, others)
    beside = [o.id for o in others if o.id in near and o.socket is not None and o.socket == placed.socket]
    return beside or near


def _covers_all(machine: Machine, nodes: NodeSet) -> bool:
    """Where sockets are unknown: every node of several, or the one node that spans packages (NPS0).

    A single node whose CPUs all claim their own package is a virtual machine without topology: nothing is remote.
    """
    with_cpus = [placed for placed in machine.nodes if placed.kind == "cpu"]
    if machine.sockets:
        reached = {placed.socket for placed in with_cpus if placed.id in nodes}
        return len(machine.sockets) > 1 and len(reached) == len(machine.sockets)
    if not nodes.issuperset(placed.id for placed in with_cpus):
        return False
    return len(with_cpus) > 1 or machine.sockets_unknown == "node_spans_packages"


def _of_memory_node(placed: PlacedNode, of_cpu_node: Mapping[int, Locality], sockets_known: bool) -> Locality | None:
    """At best ``socket``: nobody computes there."""
    found = {of_cpu_node[node] for node in placed.nearest}
    if found == {"remote"}:
        return "remote"
    return "socket" if found and "remote" not in found and sockets_known else None


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
