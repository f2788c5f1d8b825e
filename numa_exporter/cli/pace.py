"""How fast the time of a simulation goes by."""

from collections.abc import Callable

HISTORY_STEP = 60.0
"""Seconds between the samples of a written history: what Prometheus would have kept of a scrape each minute."""


class Pace:
    """Moments of a simulation: ``step`` seconds apart from ``first`` on until they meet the clock, then the clock's."""

    def __init__(self, first: float, step: float, elapsed: Callable[[], float]) -> None:
        self.met = False
        self._first = first
        self._step = step
        self._elapsed = elapsed

    def __call__(self, index: int) -> float:
        moment, now = self._first + index * self._step, self._elapsed()
        self.met = self.met or moment >= now
        return now if self.met else moment
