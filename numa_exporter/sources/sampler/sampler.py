"""The page sampler of one process. It keeps its panels from look to look: the first ones are the least certain."""

from collections.abc import Mapping
from random import Random

from numa_exporter.formats.backing import Backing
from numa_exporter.sources.sampler.estimator import Estimate, estimate
from numa_exporter.sources.sampler.frame import Frame, Resident, sizes
from numa_exporter.sources.sampler.pool import Pool
from numa_exporter.sources.sampler.space import Space

POINTS = 5600
"""Points of a look. Fewer where intervals and scan calls cost as much, but at least FEWEST_POINTS."""
FEWEST_POINTS = 2500
HITS = 2600
CALLS = 450
"""PAGEMAP_SCAN calls of a look to find empty cells."""
_POINTS_PER_INTERVAL, _POINTS_PER_CALL = 1.6, 7.0
_FLOOR = 250.0
_FILE_FLOOR = 60.0
"""Resident points for each backing at least: driver and shmem_anon are small and matter most. Files matter least."""


class Sampler:
    """One process between looks."""

    def __init__(self) -> None:
        self._pools: dict[Backing, Pool] = {}
        self._found: dict[Backing, float] = {}

    def look(self, space: Space, frame: Frame, resident: Resident, seed: int) -> Estimate:
        """One look. HostError from the space leaves the sampler as fit for the next look as before."""
        rng = Random(seed)
        expected = self._expected(frame, resident)
        self._pools = {backing: self._pools.get(backing) or Pool() for backing in expected}
        hits = _hits(expected)
        calls = 0
        for backing, pool in self._pools.items():
            share = round(CALLS * hits[backing] / sum(hits.values()))
            calls += pool.prepare(space, frame[backing], expected[backing], share, rng)
        intervals = sum(len(found) for found in frame.values())
        points = max(FEWEST_POINTS, POINTS - _POINTS_PER_INTERVAL * intervals - _POINTS_PER_CALL * calls)
        tallies = {}
        for backing, pool in self._pools.items():
            budget = round(points * hits[backing] / sum(hits.values()))
            tallies[backing] = pool.look(space, expected[backing], hits[backing], budget, rng)
        made = estimate(tallies, resident)
        self._found = {backing: tally.pages for backing, tally in tallies.items()}
        return made

    def _expected(self, frame: Frame, resident: Resident) -> dict[Backing, float]:
        """Pages by backing, before the look: as the last one found them, at first as they might be."""
        possible = sizes(frame)
        known = {backing: self._found.get(backing, pages) for backing, pages in possible.items()}
        counted = resident.moved(self._found)
        return {backing: pages for backing, pages in counted.by_backing(known).items() if pages > 0}


def _hits(expected: Mapping[Backing, float]) -> dict[Backing, float]:
    total = sum(expected.values()) or 1.0
    return {
        backing: max(_FILE_FLOOR if backing == "file" else _FLOOR, HITS * pages / total)
        for backing, pages in expected.items()
    }
