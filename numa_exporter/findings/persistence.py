"""How long a condition has held, and for how long it is remembered. A pure fold over streaks."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from numa_exporter.model.ids import RankKey
from numa_exporter.model.placement import Machine, Placement
from numa_exporter.model.report import Look, Steady, Streak, Subject
from numa_exporter.model.thresholds import Thresholds

WINDOW_SECONDS = 300.0
"""Over which counters are looked at."""
GAP_SECONDS = 300.0
"""For this long a verdict outlives readings that are missing: a withheld sample, a source that is stuck."""

Streaks = Mapping[tuple[str, Subject], Streak]


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """Now, in wall-clock seconds and on the clock that never jumps."""

    wall: float
    monotonic: float

    @classmethod
    def of(cls, placement: Placement) -> "Moment":
        return cls(wall=placement.taken_at, monotonic=placement.monotonic)


def grown(streak: Streak | None, now: Moment) -> Streak:
    """The streak one evaluation later, the condition still holding."""
    if streak is None:
        return Streak(count=1, since=now.wall, began=now.monotonic, seen=now.monotonic)
    return replace(streak, count=streak.count + 1, seen=now.monotonic)


def remembered(streak: Streak | None, now: Moment) -> Streak | None:
    """The streak while nothing can be said, until the gap is too long."""
    return streak if streak and now.monotonic - streak.seen <= GAP_SECONDS else None


def looks(before: tuple[Look, ...], placement: Placement, machine: Machine) -> tuple[Look, ...]:
    """The looks of the window with this moment's; older ones go, but for one that covers the whole window."""
    now = Look(
        monotonic=placement.monotonic,
        foreign={
            placed.id: placed.node.numastat["foreign"] for placed in machine.nodes if "foreign" in placed.node.numastat
        },
        received={
            placed.uuid: placed.gpu.pcie_rx_bytes for placed in machine.gpus if placed.gpu.pcie_rx_bytes is not None
        },
    )
    since = now.monotonic - WINDOW_SECONDS
    return (*(look for look in before if since <= look.monotonic < now.monotonic), now)


def settled(placement: Placement, calm: Mapping[RankKey, Steady], limits: Thresholds) -> frozenset[RankKey]:
    """The ranks that are old enough, or whose GPU memory has been steady for long enough: the others are loading."""
    return frozenset(
        rank.key
        for workload in placement.workloads
        for rank in workload.ranks
        if (rank.start_time is not None and placement.taken_at - rank.start_time >= limits.rank_age_seconds)
        or (rank.key in calm and placement.monotonic - calm[rank.key].since >= limits.gpu_memory_steady_seconds)
    )


def steady(before: Mapping[RankKey, Steady], placement: Placement, limits: Thresholds) -> dict[RankKey, Steady]:
    """Since when the GPU memory of each rank has not moved; a rank whose used bytes are not known is left out."""
    found: dict[RankKey, Steady] = {}
    for workload in placement.workloads:
        for rank in workload.ranks:
            used, last = rank.gpu_used_bytes, before.get(rank.key)
            if used is None:
                continue
            if last is None or abs(used - last.gpu_bytes) > limits.gpu_memory_steady * last.gpu_bytes:
                last = Steady(gpu_bytes=used, since=placement.monotonic)
            found[rank.key] = last
    return found
