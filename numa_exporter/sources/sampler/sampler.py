"""The page sampler of one process. It keeps its panels from look to look: the first ones are the least certain."""

from collections.abc import Mapping
from random import Random
from typing import TypeVar

from numa_exporter.formats.backing import Backing
from numa_exporter.sources.sampler.estimator import Estimate, estimate
from numa_exporter.sources.sampler.frame import Frame, Resident, strata
from numa_exporter.sources.sampler.intervals import Intervals, size
from numa_exporter.sources.sampler.pool import Pool
from numa_exporter.sources.sampler.space import Space
from numa_exporter.sources.sampler.tally import Tally, merged

T = TypeVar("T")

POINTS = 5600
"""Points of a look. Fewer where intervals and scan calls cost as much, but at least FEWEST_POINTS."""
FEWEST_POINTS = 2500
HITS = 2600
CALLS = 450
"""PAGEMAP_SCAN calls of a look to find empty cells."""
_POINTS_PER_INTERVAL, _POINTS_PER_CALL = 1.6, 10.0
_FLOOR, _LEAST = 250.0, 20.0
_FILE_FLOOR = 60.0
"""Resident points for each backing at least: driver and shmem_anon are small and matter most, files matter least. And
for each of its strata, so that none goes unnoticed when it fills up."""


Stratum = tuple[Backing, int]
"""A backing's intervals of one length."""


class Sampler:
    """One process between looks."""

    def __init__(self) -> None:
        self._pools: dict[Stratum, Pool] = {}
        self._found: dict[Stratum, float] = {}

    def look(self, space: Space, frame: Frame, resident: Resident, seed: int) -> Estimate:
        """One look. HostError from the space leaves the sampler as fit for the next look as before."""
        rng = Random(seed)
        parts = {(backing, part): found for backing in frame for part, found in strata(frame[backing]).items()}
        expected = self._expected(parts, resident)
        hits = _hits(expected)
        wished = sum(hits.values())
        self._pools = {stratum: self._pools.get(stratum) or Pool() for stratum in expected}
        calls = 0
        for stratum, pool in self._pools.items():
            share = round(CALLS * hits[stratum] / wished)
            calls += pool.prepare(space, parts[stratum], expected[stratum], share, rng)
        intervals = sum(map(len, parts.values()))
        points = max(FEWEST_POINTS, POINTS - _POINTS_PER_INTERVAL * intervals - _POINTS_PER_CALL * calls)
        tallies: dict[Stratum, Tally] = {}
        for stratum, pool in self._pools.items():
            budget = round(points * hits[stratum] / wished)
            tallies[stratum] = pool.look(space, expected[stratum], hits[stratum], budget, rng)
        self._found = {stratum: tally.pages for stratum, tally in tallies.items()}
        return estimate({backing: merged(here) for backing, here in _grouped(tallies).items()}, resident)

    def _expected(self, parts: Mapping[Stratum, Intervals], resident: Resident) -> dict[Stratum, float]:
        """Pages by stratum, before the look: as the last one found them, at first as they might be."""
        known: dict[Stratum, float] = {}
        for stratum, intervals in parts.items():
            # A reservation may be empty: no more is expected of it than of any mapping that could hold everything.
            possible = float(min(size(intervals), resident.pages))
            known[stratum] = self._found.get(stratum, possible)
        by_backing = {backing: sum(pages) for backing, pages in _grouped(known).items()}
        found = {backing: sum(pages) for backing, pages in _grouped(self._found).items()}
        counted = resident.moved(found).by_backing(by_backing)
        return {
            stratum: counted[stratum[0]] * (pages + 1) / (by_backing[stratum[0]] + 1)
            for stratum, pages in known.items()
            if counted.get(stratum[0], 0.0) > 0
        }


def _grouped(values: Mapping[Stratum, T]) -> dict[Backing, list[T]]:
    found: dict[Backing, list[T]] = {}
    for (backing, _), value in values.items():
        found.setdefault(backing, []).append(value)
    return found


def _hits(expected: Mapping[Stratum, float]) -> dict[Stratum, float]:
    """Resident points wished for, by stratum: a floor for each backing, shared out as its pages are."""
    total = sum(expected.values()) or 1.0
    of_backing = {backing: sum(pages) for backing, pages in _grouped(expected).items()}
    wished: dict[Stratum, float] = {}
    for (backing, part), pages in expected.items():
        floor = _FILE_FLOOR if backing == "file" else _FLOOR
        wished[backing, part] = max(floor * pages / of_backing[backing], HITS * pages / total, _LEAST)
    return wished
