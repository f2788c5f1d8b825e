"""Cells of a frame that hold no page leave it: from page to present page with PAGEMAP_SCAN, in bounded calls.

Redone at each look, so that pages born in an empty cell are seen. A cell leaves only where the kernel said at this very
look that nothing is there: what is not reached within the calls stays.
"""

from collections.abc import Sequence
from random import Random

from numa_exporter.sources.sampler.intervals import Intervals, joined
from numa_exporter.sources.sampler.space import Interval, Space

FIRST_CELL = LEAST_LEAP = 1 << 18
LARGEST_CELL = 1 << 27
SMALLEST_CELL = 512
LARGEST_LEAP = 1 << 24
"""Pages of 4 KiB: cells of 2 MiB to 512 GiB, 1 GiB at first; leaps over empty space of 1 to 64 GiB a call."""
SLOW_CALL = 200e-6
"""Thread CPU seconds: a call over many empty page tables (12 µs a GiB) holds the lock too long. Wall time would misfire
when we are preempted."""
_PILOT = 12
_FITS = 0.75
_NEWS = 0.1
"""Change in the calls used that makes a new plan worth its own."""


class Cells:
    """What is known of the emptiness of one backing's frame."""

    def __init__(self) -> None:
        self._cell = FIRST_CELL
        self._leap = FIRST_CELL
        self._longest = LARGEST_LEAP
        self._planned_at = 0
        self.finest = False
        """Whether smaller cells would not fit into the calls (or there are none): then only windows know more."""

    def occupied(self, space: Space, intervals: Intervals, calls: int, rng: Random) -> tuple[list[Interval], int]:
        """The parts of ``intervals`` that can hold pages, and the calls used: at most ``calls`` and a few to plan."""
        self._longest = min(LARGEST_LEAP, self._longest * 2)
        found, used = self._walk(space, intervals, self._cell, calls)
        if used >= calls:
            self._cell = min(self._cell * 8, LARGEST_CELL)
            self.finest = True
        elif abs(used - self._planned_at) > _NEWS * used:
            self._planned_at = used
            used += self._plan(space, found, used, calls, rng)
        return joined(found), used

    def _plan(self, space: Space, found: list[Interval], used: int, calls: int, rng: Random) -> int:
        """Whether cells of an eighth would fit into the calls: counted in a few of the present ones."""
        self.finest = True
        if self._cell == SMALLEST_CELL or not found:
            return 0
        pilot = rng.sample(found, min(_PILOT, len(found)))
        counted = sum(self._walk(space, (cell,), self._cell // 8, 9)[1] for cell in pilot)
        # A call a cell, and as many calls over empty space as now.
        if counted / len(pilot) * len(found) + used - len(found) < _FITS * calls:
            self._cell //= 8
            self._planned_at = 0
            self.finest = False
        return counted

    def _walk(self, space: Space, intervals: Sequence[Interval], cell: int, calls: int) -> tuple[list[Interval], int]:
        found: list[Interval] = []
        used = 0
        for first, end in intervals:
            at = first
            while at < end and used < calls:
                used += 1
                reach = min(end, at + self._leap)
                ranges, seconds = space.present(at, reach, 1)
                self._pace(seconds, empty=not ranges)
                if not ranges:
                    at = reach
                    continue
                here = ranges[0][0] // cell * cell
                low, at = max(at, here), min(end, here + cell)
                found.append((low, at))
            if at < end:
                found.append((at, end))
        return found, used

    def _pace(self, seconds: float, *, empty: bool) -> None:
        if seconds > SLOW_CALL:
            self._leap = self._longest = max(self._leap // 8, LEAST_LEAP)
        elif empty:
            self._leap = min(self._leap * 2, self._longest)
