"""Intervals against sets of pages, and points with equal chances."""

from itertools import pairwise
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from numa_exporter.sources.sampler import intervals
from numa_exporter.sources.sampler.space import Interval

edges = st.lists(st.integers(0, 200), min_size=0, max_size=12, unique=True).map(sorted)
laid_out = edges.map(lambda found: list(zip(found[0::2], found[1::2], strict=False)))


def pages(found: list[Interval]) -> set[int]:
    return {page for first, end in found for page in range(first, end)}


@given(laid_out, laid_out)
def test_outside_is_set_difference(these: list[Interval], those: list[Interval]) -> None:
    assert pages(intervals.outside(these, those)) == pages(these) - pages(those)


@given(laid_out, laid_out)
def test_changes_are_what_was_lost_and_gained(old: list[Interval], new: list[Interval]) -> None:
    lost, gained = intervals.changes(old, new)
    assert pages(lost) == pages(old) - pages(new)
    assert pages(gained) == pages(new) - pages(old)


@given(laid_out)
def test_joined_has_the_same_pages_and_no_neighbours(found: list[Interval]) -> None:
    whole = intervals.joined(found)
    assert pages(whole) == pages(found)
    assert all(end < following for (_, end), (following, _) in pairwise(whole))
    assert intervals.size(whole) == len(pages(found))


@given(st.lists(st.integers(0, 200), unique=True).map(sorted), laid_out)
def test_removed_points_are_those_inside(points: list[int], found: list[Interval]) -> None:
    left = [point for point in points if point not in pages(found)]
    intervals.remove(points, found)
    assert points == left


@given(laid_out, st.floats(0.01, 1.0), st.integers(0, 1000))
def test_points_lie_in_the_intervals_in_order(found: list[Interval], density: float, seed: int) -> None:
    points = intervals.jittered(found, density, Random(seed))
    assert points == sorted(points)
    assert set(points) <= pages(found)
    # One point in each 1/density pages, the first and the last stretch cut.
    assert abs(len(points) - density * intervals.size(found)) <= 2


def test_every_page_has_the_same_chance() -> None:
    """Also the first and last of short intervals: 4,000 draws of 5 points among 40 pages, 500 ± 21 for each."""
    found = [(3, 4), (10, 29), (50, 70)]
    counts = dict.fromkeys(pages(found), 0)
    for seed in range(4000):
        for point in intervals.jittered(found, 1 / 8, Random(seed)):
            counts[point] += 1
    assert all(abs(count - 500) < 4 * 21 for count in counts.values())


def test_no_density_no_points() -> None:
    assert intervals.jittered([(0, 100)], 0.0, Random(1)) == []
