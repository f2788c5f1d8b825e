"""Whole windows at random places, new ones at each look: for islands that are too many to list.

PAGEMAP_SCAN lists all present pages of a window, a few of them at jittered ranks are asked for their node. Without
memory there is no turnover to fear.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import log2, sqrt
from random import Random
from typing import NamedTuple

from numa_exporter.sources.sampler.intervals import Intervals, jittered, size
from numa_exporter.sources.sampler.jump import SLOW_CALL
from numa_exporter.sources.sampler.space import Interval, Space
from numa_exporter.sources.sampler.tally import Asked, Tally, added

MOST_WINDOWS, FEWEST_WINDOWS = 128, 20
ASKED = 6
"""Pages of one window asked for their node: more say little that is new, neighbours lie alike."""
LOOK_MICROSECONDS, WINDOW_MICROSECONDS, PAGE_MICROSECONDS = 3000.0, 20.0, 0.014
"""A look's budget, and what a window costs: a call, and each present page that it lists."""
SHORTEST, LONGEST = 9, 22
"""Powers of two, pages: 2 MiB to 16 GiB of 4 KiB pages."""
FEWEST_CARRIERS = 30
_WISHED_RANGES, _WISHED_PAGES = 4, 1000
_TRIALS = 6


class _Window(NamedTuple):
    """Present ranges of one window, and how many windows it stands for."""

    ranges: Sequence[Interval]
    weight: float
    pages: int


class Windows:
    """The window length that suits one backing, in pages, and the present pages that a window had on average."""

    def __init__(self) -> None:
        self._length = 0
        self._pages = 500.0

    def look(self, space: Space, intervals: Intervals, rng: Random) -> Tally:
        """One look over the whole frame."""
        if not self._length:
            self._find_length(space, intervals, rng)
        budgeted = int(LOOK_MICROSECONDS / (WINDOW_MICROSECONDS + PAGE_MICROSECONDS * self._pages))
        count = max(FEWEST_WINDOWS, min(MOST_WINDOWS, budgeted))
        slowest = 0.0
        windows: list[_Window] = []
        for window, seconds in self._draw(space, intervals, count, rng):
            windows.append(window)
            slowest = max(slowest, seconds)
        if not windows:  # of a frame of few pages, none may be chosen
            return Tally()
        self._resize(
            sum(len(window.ranges) for window in windows) / len(windows),
            sum(window.pages for window in windows) / len(windows),
            slowest,
        )
        return _tally(space, windows, rng)

    def _draw(self, space: Space, intervals: Intervals, count: int, rng: Random) -> Iterator[tuple[_Window, float]]:
        """Aligned windows around jittered points: the chance of one is its length in points."""
        pages = size(intervals)
        step = max(pages / count, 1.0)
        at, length = 0, self._length
        for page in jittered(intervals, 1 / step, rng):
            while page >= intervals[at][1]:
                at += 1
            first = max(intervals[at][0], page // length * length)
            end = min(intervals[at][1], (page // length + 1) * length)
            ranges, seconds = space.present(first, end)
            yield _Window(ranges, step / (end - first), size(ranges)), seconds

    def _find_length(self, space: Space, intervals: Intervals, rng: Random) -> None:
        """A first length by trial, until a few windows hold some ranges but not too many."""
        self._length, grew = 1 << 12, False
        for _ in range(_TRIALS):
            ranges = pages = 0
            for _ in range(_TRIALS):
                low, high = rng.choice(intervals)
                first = low + int(rng.random() * max(1, high - low - self._length))
                found, _ = space.present(first, min(high, first + self._length))
                ranges += len(found)
                pages += size(found)
            if ranges < 1.5 * _TRIALS and pages < 500 * _TRIALS and self._length < 1 << LONGEST:
                self._length *= 8
                grew = True
            elif not grew and (ranges > 12 * _TRIALS or pages > 2000 * _TRIALS) and self._length > 1 << SHORTEST:
                self._length //= 8
            else:
                break
        self._resize(ranges / _TRIALS, pages / _TRIALS)

    def _resize(self, ranges: float, pages: float, slowest: float = 0.0) -> None:
        """Towards the wished ranges and pages of a window; ``slowest``: thread CPU seconds of the longest call."""
        growth = min(_WISHED_RANGES / max(ranges, 0.1), _WISHED_PAGES / max(pages, 1.0))
        if slowest > 1.5 * SLOW_CALL:
            growth = min(growth, 0.25)
        growth = min(8.0, max(0.125, growth))
        before = self._length
        self._length = 1 << max(SHORTEST, min(LONGEST, round(log2(before * growth))))
        self._pages = pages * self._length / before


def _tally(space: Space, windows: Sequence[_Window], rng: Random) -> Tally:
    chosen = [_chosen(window, rng) for window in windows]
    pages = [page for here in chosen for page in here]
    nodes = space.nodes(pages) if pages else ()
    asked: list[Asked] = []
    found: list[dict[int, float]] = []
    at = 0
    for window, here in zip(windows, chosen, strict=True):
        weight = window.weight * window.pages / len(here) if here else 0.0
        there = nodes[at : at + len(here)]
        at += len(here)
        asked.append(Asked(weight, here, there))
        in_window: dict[int, float] = {}
        for node in there:
            if node >= 0:
                in_window[node] = in_window.get(node, 0.0) + weight
        found.append(in_window)
    totals = [sum(in_window.values()) for in_window in found]
    hits = sum(node >= 0 for node in nodes)
    return Tally(
        asked=asked,
        by_node=added(found),
        error=sqrt(_variance(totals)),
        effective=_effective(found, totals, hits),
    )


def _chosen(window: _Window, rng: Random) -> list[int]:
    """Up to ASKED of the window's present pages, ascending: one at random in each equal part of them."""
    pages, asked, uniform = window.pages, min(window.pages, ASKED), rng.random
    found: list[int] = []
    ranges = iter(window.ranges)
    before = first = end = 0
    for part in range(asked):
        rank = int((part + uniform()) * pages / asked)
        while rank >= before + end - first:
            before += end - first
            first, end = next(ranges)
        found.append(first + rank - before)
    return found


def _variance(values: Sequence[float]) -> float:
    """Variance of the sum of one value a stratum, in address order, from successive differences."""
    count = len(values)
    if count < 2:
        return 0.0
    return count / (2 * (count - 1)) * sum((one - other) ** 2 for one, other in pairwise(values))


def _effective(by_window: Sequence[Mapping[int, float]], totals: Sequence[float], hits: int) -> float:
    """Independent pages that would know the shares as well: the worst over runs of node ids.

    Not over single nodes: where islands alternate between sockets but interleave within one, a socket's share is known
    less well than each node's. The nodes of a socket are a run.
    """
    total = sum(totals)
    carriers = total * total / sum(value * value for value in totals) if total else 0.0
    if carriers < FEWEST_CARRIERS:
        return carriers / 2  # too few for a variance
    nodes = sorted({node for found in by_window for node in found})
    certain = max(carriers, hits / ASKED)
    worst = float(hits)
    # A run to the last node says what the run before it says.
    last = max(1, len(nodes) - 1)
    for low in range(last):
        run = [0.0] * len(by_window)
        for node in nodes[low:last]:
            run = [value + found.get(node, 0.0) for value, found in zip(run, by_window, strict=True)]
            share = sum(run) / total
            variance = _variance([value - share * whole for value, whole in zip(run, totals, strict=True)])
            known = share * (1 - share) * total * total / variance if variance > 0 else certain
            worst = min(worst, known)
    return worst
