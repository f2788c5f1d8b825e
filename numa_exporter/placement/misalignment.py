"""How much of a rank lies on another socket: one ratio for each dimension that is known.

Only ``remote`` enters a numerator. ``socket`` counts in the denominator alone, ``device`` in neither: 180 GB of GPU
memory would hide 30 GB on the wrong socket. File text and page cache are in no dimension.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from numa_exporter.model.ids import Dimension, Locality, NodeSet
from numa_exporter.model.placement import CpuAccount, CpuTime, Machine
from numa_exporter.placement.cpu import CpuSide
from numa_exporter.placement.interrupts import Fired
from numa_exporter.placement.locality import Home
from numa_exporter.placement.memory import MemorySide, Share, share_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Misalignment:
    """Every mapping holds the known dimensions only."""

    ratio: Mapping[Dimension, float]
    half_width: Mapping[Dimension, float]
    remote: Mapping[Dimension, float]
    considered: Mapping[Dimension, float]


def ratios(shares: Mapping[Dimension, Share]) -> Misalignment:
    """A share of nothing is no ratio."""
    known = {dimension: share for dimension, share in shares.items() if share.considered > 0}
    return Misalignment(
        ratio={dimension: share.remote / share.considered for dimension, share in known.items()},
        half_width={dimension: share.half_width for dimension, share in known.items() if share.half_width is not None},
        remote={dimension: share.remote for dimension, share in known.items()},
        considered={dimension: share.considered for dimension, share in known.items()},
    )


def cpu_shares(account: CpuAccount, cpu: CpuSide, interrupts: Fired | None) -> dict[Dimension, Share]:
    """CPU time of the window, the CPUs that masks allow, and interrupts of near NICs."""
    shares: dict[Dimension, Share] = {"cpu_time": _cpu_time(account.window)}
    if cpu.allowed is not None:
        shares["cpu_mask"] = _counted(cpu.allowed.items())
    if interrupts is not None:
        shares["irq"] = Share(remote=interrupts.remote, considered=interrupts.total, half_width=None)
    return shares


def memory_shares(machine: Machine, home: Home, memory: MemorySide, mems: NodeSet | None) -> dict[Dimension, Share]:
    """Pages, unless the shares of a process are withheld, and the nodes that the cpuset allows."""
    shares: dict[Dimension, Share] = {}
    if memory.mapped is not None and memory.withheld is None:
        shares["memory"] = share_of(memory.private, home.in_memory)
        shares["host_buffers"] = share_of(memory.host_buffers, home.in_memory)
        shares["shared_memory"] = share_of(memory.shared, home.in_memory)
    if mems is not None:
        # Nodes, not bytes: which of them a page comes from is not the mask's choice.
        ordinary = (placed.id for placed in machine.nodes if placed.has_memory and placed.kind != "gpu")
        shares["memory_mask"] = _counted((home.in_memory[node], 1) for node in ordinary if node in mems)
    return shares


def gpu_spread(machine: Machine, uuids: Iterable[str]) -> Share | None:
    """1 - g/min(G,S): g of the G GPUs are on their best socket, S is the most that any socket has.

    None where the socket of one is not known, or is not one.
    """
    own = [gpu.sockets if (gpu := machine.gpu(uuid)) else frozenset[int]() for uuid in uuids]
    if not own or any(len(sockets) != 1 for sockets in own):
        return None
    on_socket = Counter(socket for sockets in own for socket in sockets)
    of_machine = Counter(socket for gpu in machine.gpus if len(gpu.sockets) == 1 for socket in gpu.sockets)
    possible = min(len(own), max(of_machine.values()))
    return Share(remote=possible - max(on_socket.values()), considered=possible, half_width=None)


def _cpu_time(spent: CpuTime) -> Share:
    """The half-width is what the moved part could have been wrong by: half of it, as it was credited half and half."""
    total = sum(spent.seconds.values())
    remote = sum(seconds for (_, locality), seconds in spent.seconds.items() if locality == "remote")
    return Share(remote=remote, considered=total, half_width=spent.moved_seconds / (2 * total) if total else None)


def _counted(counts: Iterable[tuple[Locality | None, int]]) -> Share:
    remote = considered = 0
    for locality, count in counts:
        considered += count
        remote += count if locality == "remote" else 0
    return Share(remote=remote, considered=considered, half_width=None)
