"""What one look found of one backing."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class Hits(NamedTuple):
    """Resident pages that were asked for, and their nodes; each stands for ``weight`` pages."""

    weight: float
    pages: Sequence[int]
    nodes: Sequence[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """``pages`` resident ones, give or take ``error`` (one standard error). Their shares by node are known as well as
    from ``effective`` independent pages."""

    hits: Sequence[Hits] = ()
    by_node: Mapping[int, float] = field(default_factory=dict)
    error: float = 0.0
    effective: float = 0.0

    @property
    def pages(self) -> float:
        return sum(self.by_node.values())


def resident(weight: float, pages: Iterable[int], nodes: Sequence[int]) -> Hits:
    """The pages among those asked that have a node, of equal weight."""
    return Hits(
        weight,
        [page for page, node in zip(pages, nodes, strict=True) if node >= 0],
        [node for node in nodes if node >= 0],
    )


def by_node(hits: Iterable[Hits]) -> dict[int, float]:
    """Estimated pages by node."""
    found: dict[int, float] = {}
    for weight, _, nodes in hits:
        for node in set(nodes):
            found[node] = found.get(node, 0.0) + weight * nodes.count(node)
    return found
