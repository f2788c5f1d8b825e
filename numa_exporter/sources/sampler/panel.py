"""Random points of a frame that are asked again and again: hits at every look, misses one in q.

Every page of the frame is a point with the same chance ``density``, whether or not it is resident. Strata are the
answers of the last look; which misses are asked now is drawn now. So the estimate is unbiased at every look, however
pages come and go.
"""

from math import ceil, sqrt
from random import Random

from numa_exporter.sources.sampler.intervals import Intervals, changes, jittered, remove, size
from numa_exporter.sources.sampler.space import Space
from numa_exporter.sources.sampler.tally import Asked, Tally, added, by_node

ROTATION = 16
"""One point in so many is drawn anew at each look: errors do not stand still."""
LARGEST_Q = 12.0
SMALLEST_Q = 2.0
_HEADROOM = 0.55
"""Of the misses that the largest q allows; the rest is for growth between looks."""


class Panel:
    """The points of one backing. ``density`` is points per page of the frame."""

    def __init__(self) -> None:
        self.density = 0.0
        self._intervals: Intervals = ()
        self._hits: list[int] = []
        self._misses: list[int] = []
        self._fresh: list[int] = []
        self._births = _Births()

    def cover(self, intervals: Intervals, room: int, rng: Random) -> None:
        """Follow the frame: points of what it lost go, what it gained gets points (at most ``room`` of them)."""
        if intervals == self._intervals:
            return
        lost, gained = changes(self._intervals, intervals)
        for points in (self._hits, self._misses, self._fresh):
            remove(points, lost)
        new = self.density * size(gained)
        if new > room:
            self._thin(room / new, rng)
        self._intervals = intervals
        self._add(gained, self.density, rng)

    def plan(self, resident: float, hits: float, budget: int, rng: Random) -> None:
        """Choose the density for ``hits`` resident points among ``resident`` pages: never by where the hits are."""
        pages = size(self._intervals)
        wanted = min(hits / max(resident, 1.0), 1.0, self._births.largest_q * _HEADROOM * budget / pages)
        if self.density > wanted * 1.3:
            self._thin(wanted / self.density, rng)
        room = self._left(budget) * (0.6 if self._misses else 1.0)
        if 0 < self.density < 1:
            room -= self._rotate(pages, room, rng)
        rise = min(wanted - self.density, room / pages)
        if rise > 0.02 * wanted:
            self._add(self._intervals, rise, rng)
            self.density += rise

    def look(self, space: Space, budget: int, rng: Random) -> Tally:
        """Ask about ``budget`` points, somewhat more where the hits alone are as many."""
        q = max(1, ceil(len(self._misses) / self._left(budget)))
        turn = slice(rng.randrange(q), None, q)
        certain = self._hits + self._fresh
        points = certain + self._misses[turn]
        nodes = list(space.nodes(points)) if points else []
        weight = 1 / self.density if self.density else 0.0
        asked = (
            Asked(weight, certain, nodes[: len(certain)]),
            Asked(weight * q, points[len(certain) :], nodes[len(certain) :]),
        )
        del self._misses[turn]
        self._misses += [page for page, node in zip(points, nodes, strict=True) if node < 0]
        self._misses.sort()
        self._hits = sorted([page for page, node in zip(points, nodes, strict=True) if node >= 0])
        self._fresh = []
        born = sum(node >= 0 for node in asked[1].nodes)
        kept = len(self._hits) - born
        total, squares = kept + born * q, float(kept + born * q * q)
        if q > 1:
            squares += self._births.unseen(born, q)
            self._births.note(born, q, total)
        return Tally(
            asked=asked,
            by_node=added(map(by_node, asked)),
            error=sqrt(squares) * weight,
            effective=total * total / squares if total else 0.0,
        )

    def _left(self, budget: int) -> int:
        return max(budget - len(self._hits) - len(self._fresh), budget // 8, 1)

    def _add(self, intervals: Intervals, density: float, rng: Random) -> None:
        self._fresh += jittered(intervals, density, rng)
        self._fresh.sort()

    def _thin(self, kept: float, rng: Random) -> None:
        for points in (self._hits, self._misses, self._fresh):
            points[:] = [page for page in points if rng.random() < kept]
        self.density *= kept

    def _rotate(self, pages: int, room: float, rng: Random) -> float:
        """Draw some of the points anew; how many. Fresh points must go too: to spare them would favour them."""
        one_in = max(ROTATION, ceil(self.density * pages / max(1.0, room)))
        for points in (self._hits, self._misses, self._fresh):
            del points[rng.randrange(one_in) :: one_in]
        self._add(self._intervals, self.density / one_in, rng)
        return self.density * pages / one_in


class _Births:
    """How many misses become resident between looks: what the misses that are not asked may hide."""

    def __init__(self) -> None:
        self._recent = 0.0
        self._born = 0.0
        self._total = 0.0
        self.largest_q = SMALLEST_Q * 4
        """With a birth rate λ a look the relative variance goes as (1 + λq²)/q: best is λ^-½."""

    def unseen(self, born: int, q: int) -> float:
        """Variance of the misses not asked, beyond what those asked show. Some is always assumed."""
        recent = 0.75 * self._recent + 0.25 * born * q
        return max(0.0, q * recent - born * q * q, q * q / 4)

    def note(self, born: int, q: int, total: int) -> None:
        self._recent = 0.75 * self._recent + 0.25 * born * q
        self._born = 0.8 * self._born + born
        self._total = 0.8 * self._total + total
        self.largest_q = min(LARGEST_Q, max(SMALLEST_Q, sqrt((self._total + 1) / (self._born + 0.5))))
