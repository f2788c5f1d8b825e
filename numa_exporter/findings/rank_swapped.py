"""rank_swapped: two ranks sit on each other's socket, each with most of its CPU time or memory.

One order counts GPUs as the driver does, the other as the PCI bus or the cpuset does. Both verdicts have been given
already, so floors and age hold.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from numa_exporter.findings import evidence, remedy, words
from numa_exporter.findings.remote import PRIVATE, bytes_on, cpu_seconds_on
from numa_exporter.findings.rule import Rule
from numa_exporter.findings.scene import Scene, about, trust
from numa_exporter.model.ids import Dimension, NodeSet, RankKey
from numa_exporter.model.placement import Rank, Workload
from numa_exporter.model.report import Finding

DIMENSIONS: tuple[Dimension, ...] = ("cpu_time", "memory")


@dataclass(frozen=True, slots=True, kw_only=True)
class Astray:
    """A rank against the grain: what it used by node, and the nodes of its home's sockets."""

    workload: Workload
    rank: Rank
    since: float
    used: Mapping[int, float]
    own: NodeSet

    def share_on(self, nodes: NodeSet) -> float:
        return sum(self.used.get(node, 0.0) for node in nodes) / sum(self.used.values())


def find(scene: Scene) -> Iterator[Finding]:
    named: set[RankKey] = set()
    for dimension in DIMENSIONS:
        for one, other in _pairs(list(_astray(scene, dimension))):
            if {one.rank.key, other.rank.key} & named or not _swapped(scene, dimension, one, other):
                continue
            named |= {one.rank.key, other.rank.key}
            yield _finding(scene, dimension, one, other)
            yield _finding(scene, dimension, other, one)


def _pairs(astray: Sequence[Astray]) -> list[tuple[Astray, Astray]]:
    """Those of one workload first: it bound both, while two workloads can be astray for two reasons."""
    return sorted(combinations(astray, 2), key=lambda pair: pair[0].workload.key != pair[1].workload.key)


def _astray(scene: Scene, dimension: Dimension) -> Iterator[Astray]:
    for workload, rank in scene.ranks():
        verdict = scene.misaligned(rank, dimension)
        used = cpu_seconds_on(rank) if dimension == "cpu_time" else _off_its_gpus(rank)
        if verdict and verdict.since is not None and any(used.values()):
            own = words.on_sockets_of(scene.machine, rank.home)
            yield Astray(workload=workload, rank=rank, since=verdict.since, used=used, own=own)


def _off_its_gpus(rank: Rank) -> Mapping[int, float]:
    """Private bytes but those on its own GPUs: 180 GB of GPU memory are more than all that could be swapped."""
    found = bytes_on(rank, PRIVATE)
    return {node: count for node, count in found.items() if rank.mapped_locality.get(node) != "device"}


def _swapped(scene: Scene, dimension: Dimension, one: Astray, other: Astray) -> bool:
    def beyond(rank: Astray, nodes: NodeSet) -> bool:
        doubt = rank.rank.half_width.get(dimension, 0.0)
        return rank.share_on(nodes) - doubt > scene.limits.rank_swapped

    return one.own.isdisjoint(other.own) and beyond(one, other.own) and beyond(other, one.own)


def _finding(scene: Scene, dimension: Dimension, own: Astray, other: Astray) -> Finding:
    machine = scene.machine
    name, partner = (words.rank(machine, astray.workload, astray.rank) for astray in (own, other))
    what = "CPU time" if dimension == "cpu_time" else "private memory"
    advice = remedy.bind(scene, own.workload, own.rank)
    proof = evidence.cpu_time(own.rank) if dimension == "cpu_time" else evidence.pages(own.rank, PRIVATE)
    return Finding(
        code="rank_swapped",
        level="warning",
        subject=about(own.rank),
        sentence=f"{name} has {words.share(own.share_on(other.own))} of its {what} at the home of {partner}, "
        f"{words.nodes(other.rank.home)}, which has {words.share(other.share_on(own.own))} of its own at "
        f"{words.nodes(own.rank.home)}: they are swapped.",
        value=own.share_on(other.own),
        limit=scene.limits.rank_swapped,
        window_seconds=own.rank.cpu_window_seconds if dimension == "cpu_time" else None,
        since=max(own.since, other.since),
        confidence=trust(own.rank),
        evidence=tuple(proof),
        remedy=advice.remedy,
        remedy_note=f"Compare the order in which both are bound with the GPUs' order by PCI address.\n{advice.note}",
    )


RULE = Rule(
    code="rank_swapped",
    levels=("warning",),
    docs="Two ranks are each mostly on the other's socket: their binding counts GPUs in another order.",
    find=find,
)
