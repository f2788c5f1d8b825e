"""The three lanes of a rank: CPU time, memory, host buffers. Every mark, number and spoken word comes from a lane."""

from collections.abc import Mapping
from dataclasses import dataclass

from numa_exporter.page.document import Document, Rank
from numa_exporter.page.locality import Locality, locality, memory_home
from numa_exporter.page.words import NBSP, memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Dimension:
    """`backings` are the kinds of mapped memory that the dimension judges; none for CPU time."""

    key: str
    label: str
    name: str
    code: str
    backings: tuple[str, ...]


DIMENSIONS = (
    Dimension(key="cpu_time", label="CPU time", name="CPU time", code="cpu_remote", backings=()),
    Dimension(
        key="memory",
        label="memory",
        name="memory",
        code="memory_remote",
        backings=("anon", "shmem_anon", "hugetlb", "driver"),
    ),
    Dimension(
        key="host_buffers",
        label="buffers",
        name="host buffers",
        code="host_buffers_remote",
        backings=("shmem_anon", "driver"),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """One dimension of one rank. `amounts`: node → CPU seconds or bytes, without the rank's own device memory."""

    dimension: Dimension
    amounts: Mapping[int, float]
    classes: Mapping[int, Locality]
    window_seconds: float
    ratio: float | None
    against: bool
    not_judged: str | None

    def share(self, node: int) -> float:
        """Part of the lane's total on this node, 0 to 1; 0 where there is no total."""
        total = sum(self.amounts.values())
        return self.amounts.get(node, 0.0) / total if total > 0 else 0.0

    @property
    def remote_nodes(self) -> tuple[int, ...]:
        far = Locality.REMOTE
        return tuple(sorted(n for n, amount in self.amounts.items() if amount > 0 and self.classes[n] is far))

    @property
    def remote_amount(self) -> str:
        """ "18.7 GiB", or "0.59 cores" for CPU time."""
        total = sum(self.amounts[node] for node in self.remote_nodes)
        if self.dimension.backings:
            return memory(total)
        return f"{total / self.window_seconds:.2f}{NBSP}cores"


def read_lanes(document: Document, rank: Rank, against: frozenset[str]) -> tuple[Lane, ...]:
    """The lanes in their fixed order. `against`: dimensions with a verdict that is not suppressed."""
    return tuple(_lane(document, rank, dimension, dimension.key in against) for dimension in DIMENSIONS)


def _lane(document: Document, rank: Rank, dimension: Dimension, against: bool) -> Lane:
    machine = document.machine
    home = frozenset(rank.home)
    if dimension.backings:
        found = _sum_by_node(rank.mapped, dimension.backings)
        home = memory_home(machine, home)
    else:
        found = dict(rank.cpu_seconds)
    classes = {node: locality(machine, node, home, rank.gpus) for node in found}
    return Lane(
        dimension=dimension,
        amounts={node: x for node, x in found.items() if classes[node] is not Locality.DEVICE},
        classes=classes,
        window_seconds=rank.window_seconds,
        ratio=rank.misalignment.get(dimension.key),
        against=against,
        not_judged=_why_not_judged(document, rank, dimension),
    )


def _sum_by_node(mapped: Mapping[str, Mapping[int, float]], backings: tuple[str, ...]) -> dict[int, float]:
    total: dict[int, float] = {}
    for backing in backings:
        for node, size in mapped.get(backing, {}).items():
            total[node] = total.get(node, 0.0) + size
    return total


def _why_not_judged(document: Document, rank: Rank, dimension: Dimension) -> str | None:
    """The agent's reason; where a ratio is missing without one, what the contract says about such a home."""
    reason = rank.not_judged.get(dimension.key) or rank.not_judged.get("*") or rank.unjudged
    machine = document.machine
    if reason is not None:
        return reason
    if not machine.sockets and len(machine.nodes) > 1 and dimension.key not in rank.misaligned:
        return "sockets unknown"
    if dimension.key in rank.misalignment:
        return None
    sockets = {machine.nodes[node].socket for node in rank.home if node in machine.nodes}
    if len(machine.sockets) > 1 and machine.sockets <= sockets:
        return "its home covers every socket"
    return "no reading" if rank.home else "home unknown"
