"""Sorted disjoint intervals of page numbers, and points in them."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from random import Random

from numa_exporter.sources.sampler.space import Interval

Intervals = Sequence[Interval]


def size(intervals: Iterable[Interval]) -> int:
    """Pages in all."""
    pages = 0
    for first, end in intervals:  # a third faster than sum() of a generator, for windows of a few ranges
        pages += end - first
    return pages


def joined(intervals: Iterable[Interval]) -> list[Interval]:
    """The same pages with adjacent intervals made one."""
    made: list[Interval] = []
    for first, end in intervals:
        if made and made[-1][1] == first:
            made[-1] = made[-1][0], end
        else:
            made.append((first, end))
    return made


def outside(these: Iterable[Interval], those: Intervals) -> list[Interval]:
    """The parts of ``these`` that are not in ``those``."""
    starts = [first for first, _ in those]
    parts: list[Interval] = []
    for first, end in these:
        at = max(0, bisect_right(starts, first) - 1)
        done = first
        while done < end and at < len(those):
            low, high = those[at]
            at += 1
            if high <= done:
                continue
            if low >= end:
                break
            if low > done:
                parts.append((done, low))
            done = high
        if done < end:
            parts.append((done, end))
    return parts


def changes(old: Intervals, new: Intervals) -> tuple[list[Interval], list[Interval]]:
    """What was lost and what was gained. Unchanged intervals cost nothing but the comparison."""
    before, now = set(old), set(new)
    return outside(sorted(before - now), new), outside(sorted(now - before), old)


def remove(points: list[int], intervals: Intervals) -> None:
    """Delete from a sorted list, in place, the points that lie in the intervals."""
    for first, end in reversed(intervals):
        low = bisect_left(points, first)
        high = bisect_left(points, end, low)
        if low < high:
            del points[low:high]


def jittered(intervals: Intervals, density: float, rng: Random) -> list[int]:
    """Each page with chance ``density``: one uniform point in every 1/density pages, the intervals laid end to end.

    Never a fixed stride: interleaved pages would alias with it.
    """
    if density <= 0:
        return []
    step, uniform = 1 / density, rng.random
    points: list[int] = []
    cell = -uniform() * step
    at, done = cell + uniform() * step, 0
    for first, end in intervals:
        length = end - first
        while at < done + length:
            if at >= done:
                points.append(first + int(at - done))
            cell += step
            at = cell + uniform() * step
        done += length
    return points
