"""The machines that the lab can be, as data."""

from dataclasses import dataclass, field
from types import MappingProxyType

FAR = 21  # QEMU's and most firmware's distance to another socket


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A NUMA node. `cpus` is kernel list text, "" for none; `nearest` is a CPU-less node's node with CPUs."""

    cpus: str = ""
    memory_mib: int = 0
    nearest: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Topology:
    """A machine. `distances` holds each pair once, lower node first; a pair left out is FAR.

    Without `srat` the firmware tells the kernel nothing: it makes up node 0 and knows no device's node.
    """

    sockets: int
    nodes: tuple[Node, ...]
    distances: MappingProxyType[tuple[int, int], int] = field(default_factory=lambda: MappingProxyType({}))
    srat: bool = True

    @property
    def cpus(self) -> int:
        return sum(len(ids(node.cpus)) for node in self.nodes)

    @property
    def memory_mib(self) -> int:
        return sum(node.memory_mib for node in self.nodes)

    def distance(self, a: int, b: int) -> int:
        return 10 if a == b else self.distances.get((min(a, b), max(a, b)), FAR)


def ids(text: str) -> list[int]:
    """Kernel list text, "0-2,5", as numbers."""
    ends = [part.split("-") for part in text.split(",") if part]
    return [number for end in ends for number in range(int(end[0]), int(end[-1]) + 1)]


TOPOLOGIES = MappingProxyType(
    {
        "2s2n": Topology(sockets=2, nodes=(Node(cpus="0-1", memory_mib=1024), Node(cpus="2-3", memory_mib=1024))),
        # a CPU claims each socket, as in many virtual machines: the exporter knows of no sockets here
        "2s2n-small": Topology(sockets=2, nodes=(Node(cpus="0", memory_mib=512), Node(cpus="1", memory_mib=512))),
        "2s2n-lean": Topology(sockets=2, nodes=(Node(cpus="0-1", memory_mib=512), Node(cpus="2-3", memory_mib=512))),
        # sub-NUMA clustering (SNC2, NPS2): two nodes a socket
        "2s4n-snc2": Topology(
            sockets=2,
            nodes=tuple(Node(cpus=cpus, memory_mib=512) for cpus in "0123"),
            distances=MappingProxyType({(0, 1): 12, (2, 3): 12}),
        ),
        # nodes 2 and 3 have memory and no CPUs: a CXL expander, or a GPU's memory shown as a node
        "2s4n-memonly": Topology(
            sockets=2,
            nodes=(
                Node(cpus="0-1", memory_mib=512),
                Node(cpus="2-3", memory_mib=512),
                Node(memory_mib=512, nearest=0),
                Node(memory_mib=512, nearest=1),
            ),
            distances=MappingProxyType({(0, 1): 40, (0, 2): 80, (0, 3): 120, (1, 2): 120, (1, 3): 80, (2, 3): 160}),
        ),
        # node 1 has CPUs and an empty DIMM bank
        "2s2n-nomem": Topology(sockets=2, nodes=(Node(cpus="0-1", memory_mib=768), Node(cpus="2-3"))),
        "1s1n": Topology(sockets=1, nodes=(Node(cpus="0-1", memory_mib=768),)),
        # a plain virtual machine
        "1s1n-nosrat": Topology(sockets=1, nodes=(Node(cpus="0-1", memory_mib=768),), srat=False),
    }
)
