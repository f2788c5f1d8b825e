"""The agent's own cost, and the brake on it: over budget, the costly sources are read less often."""

import psutil

from numa_exporter.model.health import ProcessCost

STRETCH_LIMIT = 8.0


class Governor:
    """Watches the agent's share of one CPU and answers by how much costly intervals are to be stretched.

    ``budget`` is a share of one CPU. Doubles the stretch while over it, halves it below half of it: a factor, not a
    controller, because the cost of a tick is known only after it.
    """

    def __init__(self, budget: float) -> None:
        self._process = psutil.Process()
        self._budget = budget
        self._seen: tuple[float, float] | None = None
        self.stretch = 1.0

    def observe(self, monotonic: float) -> float:
        """Take this tick's CPU time in; the new stretch (1 to STRETCH_LIMIT)."""
        times = self._process.cpu_times()
        used = times.user + times.system
        if self._seen is not None and monotonic > self._seen[0]:
            self.stretch = stretched(self.stretch, (used - self._seen[1]) / (monotonic - self._seen[0]), self._budget)
        self._seen = (monotonic, used)
        return self.stretch

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


def stretched(stretch: float, share: float, budget: float) -> float:
    """The next stretch for a CPU share that was measured under the present one."""
    if share > budget:
        return min(STRETCH_LIMIT, stretch * 2)
    if share < budget / 2:
        return max(1.0, stretch / 2)
    return stretch
