"""The agent's own cost, and the brake on it: over budget, the costly sources are read less often."""

from dataclasses import dataclass

import psutil

from numa_exporter.model.health import ProcessCost
from numa_exporter.sources.source import Source

STRETCH_LIMIT = 8.0
LOCK_BUDGET = 0.02
"""Seconds a second, over all workloads together. One look's budget is half of it (sources/memory.py)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """By how much intervals are stretched for CPU time, and for time in workloads' locks."""

    cpu: float = 1.0
    locks: float = 1.0

    def of(self, source: Source) -> float:
        """A source that holds no locks gives none back by being read less often."""
        return max(self.cpu if source.costly else 1.0, self.locks if source.locks else 1.0)


class Governor:
    """Watches what the agent costs and answers by how much intervals are to be stretched.

    ``budget`` is a share of one CPU, ``lock_budget`` seconds a second in calls that can hold a workload's mmap lock.
    Doubles a stretch while over its budget, halves it below half of that: a factor, not a controller, because the cost
    of a tick is known only after it.
    """

    def __init__(self, budget: float, lock_budget: float = LOCK_BUDGET) -> None:
        self._process = psutil.Process()
        self._budget = budget
        self._lock_budget = lock_budget
        self._seen: tuple[float, float, float] | None = None
        self._stretch = Stretch()

    def observe(self, monotonic: float, lock_hold_seconds: float | None = None) -> Stretch:
        """Take this tick's CPU time and lock holds (both sums since the start) in; the new stretches (1
        to STRETCH_LIMIT)."""
        times = self._process.cpu_times()
        now = monotonic, times.user + times.system, lock_hold_seconds or 0.0
        if self._seen is not None and monotonic > self._seen[0]:
            seconds, used, held = (after - before for before, after in zip(self._seen, now, strict=True))
            self._stretch = Stretch(
                cpu=stretched(self._stretch.cpu, used / seconds / self._budget),
                locks=stretched(self._stretch.locks, held / seconds / self._lock_budget),
            )
        self._seen = now
        return self._stretch

    def cost(self) -> ProcessCost:
        """This process as its own /proc entry shows it."""
        with self._process.oneshot():
            times = self._process.cpu_times()
            memory = self._process.memory_info()
            return ProcessCost(
                cpu_seconds=times.user + times.system,
                resident_bytes=memory.rss,
                virtual_bytes=memory.vms,
                open_fds=self._process.num_fds(),
                threads=self._process.num_threads(),
                start_time=self._process.create_time(),
            )


def stretched(stretch: float, spent: float) -> float:
    """The next stretch, where so much of the budget (1 = all) was spent under the present one."""
    if spent > 1:
        return min(STRETCH_LIMIT, stretch * 2)
    if spent < 0.5:
        return max(1.0, stretch / 2)
    return stretch
