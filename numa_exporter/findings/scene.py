"""What a finding is judged by: the placement, the limits, the verdicts so far, and rates over the last minutes."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from numa_exporter.model.ids import Dimension, RankKey
from numa_exporter.model.placement import Machine, Placement, Rank, Workload
from numa_exporter.model.report import Confidence, Look, Subject, Verdict
from numa_exporter.model.thresholds import Thresholds


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One evaluation. ``settled``: the ranks that are old enough to be judged. ``looks``: counters of the last minutes,
    oldest first, this moment's last."""

    placement: Placement
    machine: Machine
    limits: Thresholds
    verdicts: Mapping[RankKey, Mapping[Dimension, Verdict]]
    settled: frozenset[RankKey]
    looks: tuple[Look, ...]

    def ranks(self) -> Iterator[tuple[Workload, Rank]]:
        """Every rank with its workload; helpers get no verdict and are left out."""
        for workload in self.placement.workloads:
            for rank in workload.ranks:
                yield workload, rank

    def misaligned(self, rank: Rank, dimension: Dimension) -> Verdict | None:
        """The verdict, if it is against the grain."""
        verdict = self.verdicts.get(rank.key, {}).get(dimension)
        return verdict if verdict is not None and verdict.misaligned else None

    @property
    def window(self) -> float:
        """Seconds that the looks span."""
        return self.looks[-1].monotonic - self.looks[0].monotonic

    def foreign(self, node: int) -> int | None:
        """numa_foreign events of a node over the looks; None where its counter was not read or fell."""
        return _grown([look.foreign.get(node) for look in self.looks])

    def received(self, uuid: str) -> float | None:
        """Bytes a second that a GPU received over PCIe; None where the driver does not count them."""
        grown = _grown([look.received.get(uuid) for look in self.looks])
        return None if grown is None or not self.window else grown / self.window


def about(rank: Rank) -> Subject:
    """A rank as the subject of a finding."""
    return Subject(workload=rank.key.workload, uuid=rank.key.uuid)


def trust(rank: Rank) -> Confidence:
    """How far a finding about it can be trusted."""
    return "low" if rank.low_confidence else "high"


def _grown(counts: list[int | None]) -> int | None:
    first, last = counts[0], counts[-1]
    return None if first is None or last is None or last < first else last - first
