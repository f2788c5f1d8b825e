"""Empty cells leave the frame; no present page ever does."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from numa_exporter.sources.sampler.intervals import outside, size
from numa_exporter.sources.sampler.jump import FIRST_CELL, LEAST_LEAP, SLOW_CALL, SMALLEST_CELL, Cells
from numa_exporter.sources.sampler.space import Interval, Present
from tests.bench.sampler_worlds import GIB, TIB, Extent, Extents, Stride


def world(pages: int, *extents: Interval) -> Extents:
    named = [Extent(first, end, 0) for first, end in extents]
    return Extents({"anon": [(0, pages)]}, named, {"anon": Stride(1)}, scans=True)


@given(st.lists(st.tuples(st.integers(0, 8 * GIB), st.integers(1, GIB)), min_size=1, max_size=12), st.integers(1, 60))
def test_no_present_page_is_ever_dropped(starts: list[Interval], calls: int) -> None:
    space = world(10 * GIB, *((first, first + length) for first, length in starts))
    resident = [(first, end) for first, end, _ in space.extents]
    cells = Cells()
    for look in range(4):
        occupied, _ = cells.occupied(space, space.frame()["anon"], calls, Random(look))
        assert outside(resident, occupied) == []


def test_cells_shrink_until_they_fit_closely() -> None:
    space = world(TIB, (100 * GIB, 101 * GIB), (900 * GIB + 77, 900 * GIB + 5000))
    cells = Cells()
    for look in range(6):
        occupied, used = cells.occupied(space, space.frame()["anon"], 450, Random(look))
        assert used <= 450 + 12 * 9
    assert size(occupied) <= GIB + 4923 + 2 * SMALLEST_CELL + 450 * SMALLEST_CELL


def test_islands_are_too_many_for_the_calls() -> None:
    rng = Random(1)
    space = world(TIB, *((at * 512, at * 512 + 512) for at in rng.sample(range(TIB // 512), 5000)))
    cells = Cells()
    occupied, used = cells.occupied(space, space.frame()["anon"], 450, rng)
    assert cells.finest
    assert used >= 450
    assert size(occupied) > TIB // 2  # the rest stays, unproven


class Slow:
    """Empty page tables everywhere: each call takes long. Notes how far the calls reached."""

    scans = True

    def __init__(self) -> None:
        self.reaches: list[int] = []

    def nodes(self, pages: object) -> list[int]:
        raise AssertionError

    def present(self, first: int, end: int, limit: int = 0) -> Present:
        self.reaches.append(end - first)
        return (), 2 * SLOW_CALL if end - first > LEAST_LEAP else 0.0


def test_leaps_grow_over_empty_space_and_shrink_where_a_call_was_slow() -> None:
    space = Slow()
    occupied, used = Cells().occupied(space, [(0, 100 * GIB)], 450, Random(1))
    assert occupied == [] and used == 100 - 1
    assert space.reaches[:3] == [FIRST_CELL, 2 * FIRST_CELL, FIRST_CELL]
    assert set(space.reaches[3:]) == {FIRST_CELL}
