"""The verdict on a dimension of a rank: against the grain or not, or why that is not judged.

Against the grain: ratio - half-width at the limit or above, the absolute floor reached, the rank old enough, and all
of that in a few consecutive evaluations. It clears below half the limit. A dimension that is not judged is not a
clean one, so each doubt is said, in as few letters as the picture has room for.
"""

from dataclasses import dataclass, replace

from numa_exporter.findings.interleaved import explains
from numa_exporter.findings.persistence import Moment, grown, remembered
from numa_exporter.model import amounts
from numa_exporter.model.ids import Dimension
from numa_exporter.model.placement import Machine, Rank
from numa_exporter.model.report import Streak, Verdict
from numa_exporter.model.thresholds import Thresholds

READINGS = frozenset({"no reading", "withheld", "error too wide"})
"""Doubts about one reading, not about the rank: the verdict before it is still remembered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """What a dimension has to reach: the limit of its ratio, and the least that is remote (bytes or CPU seconds)."""

    limit: float
    floor: float


def bar_of(dimension: Dimension, rank: Rank, limits: Thresholds) -> Bar:
    """The limits of one dimension; that of CPU time is a rate, so it depends on the window."""
    if dimension == "cpu_time":
        return Bar(limit=limits.cpu_time, floor=limits.cpu_time_cores * rank.cpu_window_seconds)
    if dimension == "memory":
        return Bar(limit=limits.memory, floor=limits.memory_bytes)
    return Bar(limit=limits.host_buffers, floor=limits.host_buffers_bytes)


def judge_dimension(
    machine: Machine,
    rank: Rank,
    dimension: Dimension,
    limits: Thresholds,
    *,
    now: Moment,
    settled: bool,
    streak: Streak | None,
) -> tuple[Verdict, Streak | None]:
    """The verdict, and the streak to remember. ``settled``: the rank is old enough."""
    streak = remembered(streak, now)
    if rank.home and one_socket(machine):
        return Verdict(misaligned=False), None
    doubt = _doubt(machine, rank, dimension, limits) or (None if settled else "too young")
    if doubt is not None:
        return Verdict(misaligned=None, not_judged=doubt), streak if doubt in READINGS else None
    bar = bar_of(dimension, rank, limits)
    ratio = rank.misalignment.get(dimension, 0.0)
    if streak and streak.active and ratio >= bar.limit / 2:
        return Verdict(misaligned=True, since=streak.since), grown(streak, now)
    bad = ratio - rank.half_width.get(dimension, 0.0) >= bar.limit and rank.remote.get(dimension, 0.0) >= bar.floor
    if not bad:
        return Verdict(misaligned=False), None
    if explains(rank, dimension, bar.limit, bar.floor):
        return Verdict(misaligned=None, not_judged="interleaved"), None
    streak = grown(streak, now)
    if streak.count < limits.evaluations:
        return Verdict(misaligned=None, not_judged=f"needs {limits.evaluations:.0f} looks"), streak
    return Verdict(misaligned=True, since=streak.since), replace(streak, active=True)


def one_socket(machine: Machine) -> bool:
    """Whether nothing can be on another socket, for there is none."""
    if machine.sockets:
        return len(machine.sockets) == 1
    with_cpus = sum(placed.kind == "cpu" for placed in machine.nodes)
    return with_cpus == 1 and machine.sockets_unknown != "node_spans_packages"


def _doubt(machine: Machine, rank: Rank, dimension: Dimension, limits: Thresholds) -> str | None:
    if rank.unjudged is not None or rank.indistinct or not rank.home:
        return _no_home(machine, rank)
    return _cpu_doubt(rank, limits) if dimension == "cpu_time" else _memory_doubt(rank, dimension, limits)


def _no_home(machine: Machine, rank: Rank) -> str:
    if not rank.home:
        return "home unknown"
    if not machine.sockets:
        return "sockets unknown"
    mains = [held for process in rank.processes for held in process.holdings if held.role == "main"]
    return "sizes unknown" if any(held.used_bytes is None for held in mains) else "on all sockets"


def _cpu_doubt(rank: Rank, limits: Thresholds) -> str | None:
    if not rank.cpu_known:
        return "no reading"
    if rank.cpu_window_seconds < limits.cpu_time_window_seconds:
        return f"needs {limits.cpu_time_window_seconds / 60:g} min"
    used = sum(rank.cpu_window.seconds.values())
    return "idle" if used < limits.cpu_time_used_seconds else None


def _memory_doubt(rank: Rank, dimension: Dimension, limits: Thresholds) -> str | None:
    if rank.withheld is not None:
        return "withheld"
    if not rank.memory_home:
        return "no memory home"
    if rank.mapped is None:
        return "no reading"
    considered = rank.considered.get(dimension, 0.0)
    if dimension == "memory" and considered < limits.memory_resident_bytes:
        return f"under {amounts.size(limits.memory_resident_bytes)}"
    width = rank.half_width.get(dimension)
    unknown = considered > 0 and width is None
    too_wide = dimension == "memory" and width is not None and width > limits.memory_error
    return "error too wide" if unknown or too_wide else None
