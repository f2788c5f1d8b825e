"""What one look found of one backing."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt
from typing import NamedTuple


class Asked(NamedTuple):
    """Pages that were asked for, each standing for ``weight`` pages, and their nodes; negative where none is there."""

    weight: float
    pages: Sequence[int]
    nodes: Sequence[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """``pages`` resident ones, give or take ``error`` (one standard error). Their shares by node are known as well as
    from ``effective`` independent pages."""

    asked: Sequence[Asked] = ()
    by_node: Mapping[int, float] = field(default_factory=dict)
    error: float = 0.0
    effective: float = 0.0

    @property
    def pages(self) -> float:
        return sum(self.by_node.values())


def merged(tallies: Sequence[Tally]) -> Tally:
    """One tally of several that were sampled apart. Effective samples are those of a weighted sum: a part that is
    sampled too thinly for its size counts against the whole."""
    if len(tallies) == 1:
        return tallies[0]
    nodes = added(tally.by_node for tally in tallies)
    seen = [tally for tally in tallies if tally.pages]
    blind = any(tally.effective <= 0 for tally in seen)
    spread = 0.0 if blind else sum(tally.pages**2 / tally.effective for tally in seen)
    return Tally(
        asked=[asked for tally in tallies for asked in tally.asked],
        by_node=nodes,
        error=sqrt(sum(tally.error**2 for tally in tallies)),
        effective=sum(nodes.values()) ** 2 / spread if spread else 0.0,
    )


def by_node(asked: Asked) -> dict[int, float]:
    """Estimated pages by node."""
    return {node: asked.weight * asked.nodes.count(node) for node in set(asked.nodes) if node >= 0}


def added(parts: Iterable[Mapping[int, float]]) -> dict[int, float]:
    """Sums by node."""
    found: dict[int, float] = {}
    for part in parts:
        for node, pages in part.items():
            found[node] = found.get(node, 0.0) + pages
    return found
