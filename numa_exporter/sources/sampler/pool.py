"""One backing between looks: a panel, or windows where a panel would be blind."""

from random import Random

from numa_exporter.sources.sampler.intervals import Intervals, size
from numa_exporter.sources.sampler.jump import Cells
from numa_exporter.sources.sampler.panel import Panel
from numa_exporter.sources.sampler.space import Space
from numa_exporter.sources.sampler.tally import Tally
from numa_exporter.sources.sampler.windows import Windows

REST = 16
"""Looks that a panel stays once windows did badly; twice as long the next time."""
MOST_NEW_POINTS = 2800
_SPARSE, _VERY_SPARSE, _OFF = 0.5, 0.25, 0.3
_POOR_EFFECTIVE, _POOR_DENSITY = 120.0, 6000.0
"""Effective samples below which windows do badly, unless a panel would do no better: it gets about 12,000 times the
share of the frame that is resident."""
_PATIENCE = 3
"""Looks: the window length has to find itself."""


class Pool:
    """``prepare`` before each ``look``: in between the backings share out the budget."""

    def __init__(self) -> None:
        self._cells = Cells()
        self._panel: Panel | None = Panel()
        self._windows = Windows()
        self._rest = 0
        self._intervals: Intervals = ()
        self._hopeless = False
        self._poor_looks = 0
        self._next_rest = REST

    def prepare(self, space: Space, intervals: Intervals, resident: float, calls: int, rng: Random) -> int:
        """Take in the frame and, with a panel, drop what is empty of it; the scan calls used, about ``calls``."""
        self._intervals = intervals
        self._hopeless = False
        used, pages = 0, size(intervals)
        if self._panel is None:
            return used
        if space.scans and resident < _SPARSE * pages:
            if self._rest > 0:
                self._rest -= 1
            else:
                self._intervals, used = self._cells.occupied(space, intervals, calls, rng)
                left = size(self._intervals)
                self._hopeless = self._cells.finest and resident < _VERY_SPARSE * left
        if not self._hopeless:
            self._panel.cover(self._intervals, MOST_NEW_POINTS, rng)
        return used

    def look(self, space: Space, resident: float, hits: float, budget: int, rng: Random) -> Tally:
        """``hits`` is wished, ``budget`` the points to ask about; windows have a budget of their own."""
        if not self._intervals:
            return Tally()
        if self._panel is not None and not self._hopeless:
            self._panel.plan(resident, hits, budget, rng)
            return self._panel.look(space, budget, rng)
        self._panel = None
        tally = self._windows.look(space, self._intervals, rng)
        self._poor_looks = self._poor_looks + 1 if self._did_badly(tally, resident) else 0
        if self._poor_looks >= _PATIENCE:
            self._panel, self._rest, self._poor_looks = Panel(), self._next_rest, 0
            self._next_rest *= 2
        return tally

    def _did_badly(self, tally: Tally, resident: float) -> bool:
        """Whether windows know too little, or missed most of what is there: a dense heap in one corner, say."""
        poor = min(_POOR_EFFECTIVE, _POOR_DENSITY * resident / size(self._intervals))
        missed = abs(tally.pages - resident) > 3 * tally.error + _OFF * resident
        return tally.effective < poor or missed
