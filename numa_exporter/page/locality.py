"""Where a node lies as seen from a rank's home. Only for drawing: ratios and verdicts are read, never made here."""

from collections.abc import Collection, Iterable
from enum import Enum

from numa_exporter.page.hardware import Machine, Node


class Locality(Enum):
    LOCAL = "local"
    SOCKET = "socket"
    REMOTE = "remote"
    DEVICE = "device"
    UNKNOWN = "unknown"


def locality(machine: Machine, node_id: int, home: Collection[int], gpus: Collection[str]) -> Locality:
    """The class of a node for a rank with this home and these GPUs."""
    node = machine.nodes.get(node_id)
    if node is None or not home:
        return Locality.UNKNOWN
    if node.kind == "gpu":
        return _device_memory(machine, node, home, gpus)
    return _host_memory(machine, node, home)


def memory_home(machine: Machine, home: Iterable[int]) -> frozenset[int]:
    """Home nodes that have memory; if none has, the nearest nodes with memory by the kernel's distances."""
    nodes = [machine.nodes[node_id] for node_id in home if node_id in machine.nodes]
    with_memory = frozenset(node.id for node in nodes if node.has_memory)
    return with_memory or frozenset(near for node in nodes for near in _nearest_memory(machine, node))


def _device_memory(machine: Machine, node: Node, home: Collection[int], gpus: Collection[str]) -> Locality:
    """Memory of an own GPU is `device`; another GPU's takes the class of that GPU's CPU node."""
    owner = next((gpu for gpu in machine.gpus if gpu.memory_node == node.id), None)
    if owner is None:
        return Locality.UNKNOWN
    if owner.key in gpus:
        return Locality.DEVICE
    near = machine.nodes.get(owner.affinity[0]) if owner.affinity else None
    return Locality.UNKNOWN if near is None else _host_memory(machine, near, home)


def _host_memory(machine: Machine, node: Node, home: Collection[int]) -> Locality:
    if node.id in home:
        return Locality.LOCAL
    sockets = {machine.nodes[near].socket for near in home if near in machine.nodes}
    if node.socket is not None and node.socket in sockets:
        return Locality.SOCKET
    if node.kind == "memory" and node.socket is None:
        return Locality.UNKNOWN  # as near to one socket as to another
    return Locality.REMOTE


def _nearest_memory(machine: Machine, node: Node) -> list[int]:
    far = {
        other: distance
        for other, distance in node.distances.items()
        if other in machine.nodes and machine.nodes[other].kind != "gpu" and machine.nodes[other].has_memory
    }
    near = [other for other, distance in far.items() if distance == min(far.values())]
    beside = [other for other in near if node.socket is not None and machine.nodes[other].socket == node.socket]
    return beside or near
