"""Windows: pages by jittered ranks, variance from neighbours, a length that finds itself."""

from collections import Counter
from collections.abc import Sequence
from random import Random
from statistics import fmean, pstdev

import pytest

from numa_exporter.sources.sampler import windows
from numa_exporter.sources.sampler.intervals import size
from numa_exporter.sources.sampler.space import Interval
from numa_exporter.sources.sampler.windows import Windows
from tests.bench.sampler_scenarios import islands
from tests.bench.sampler_worlds import GIB, TIB, ByName, Extent, Extents, Scattered, Stride


def island_world(seed: int) -> Extents:
    return Extents({"anon": [(0, TIB // 4)]}, islands(Random(seed), TIB // 4, 0.02), {"anon": ByName(seed)}, scans=True)


def chosen(ranges: Sequence[Interval], seed: int) -> list[int]:
    return windows._chosen(windows._Window(ranges, 1.0, size(ranges)), Random(seed))


def test_chosen_pages_have_equal_chances() -> None:
    nine = [(10, 12), (20, 21), (30, 36)]
    counts: Counter[int] = Counter()
    for seed in range(3000):
        pages = chosen(nine, seed)
        assert len(pages) == windows.ASKED and pages == sorted(pages)
        counts.update(pages)
    present = [page for first, end in nine for page in range(first, end)]
    assert sorted(counts) == present and all(abs(counts[page] - 2000) < 4 * 30 for page in present)
    assert chosen([(7, 8), (9, 11)], 1) == [7, 9, 10]
    assert chosen([], 1) == []


def test_total_and_shares_are_unbiased_on_islands() -> None:
    totals, shares, effective = [], [], []
    for seed in range(20):
        world, rng, found = island_world(seed), Random(seed), Windows()
        for _ in range(3):
            tally = found.look(world, world.frame()["anon"], rng)
        truth = world.truth()["anon"]
        totals.append(tally.pages / sum(truth.values()) - 1)
        shares.append(tally.by_node[1] / tally.pages - truth[1] / sum(truth.values()))
        effective.append(tally.effective)
    for errors in (totals, shares):
        assert abs(fmean(errors)) < 3 * pstdev(errors) / 20**0.5
    # The spread is what the effective samples promise: √(p(1-p)/n) with p near 0.35.
    assert pstdev(shares) == pytest.approx((0.35 * 0.65 / fmean(effective)) ** 0.5, rel=0.35)


def test_the_length_settles_at_a_few_ranges_a_window() -> None:
    world, found, rng = Scattered(3, TIB, in_256=3, scans=True), Windows(), Random(3)
    for _ in range(4):
        found.look(world, world.frame()["anon"], rng)
    assert found._length == 512  # 6 single pages on average
    world_of_islands, found = island_world(3), Windows()
    for _ in range(4):
        found.look(world_of_islands, [(0, TIB // 4)], rng)
    assert 400 < found._pages < 2500


def test_too_few_windows_with_pages_know_next_to_nothing() -> None:
    world = Extents({"anon": [(0, TIB)]}, islands(Random(1), TIB, 0.00001), {"anon": ByName(1)}, scans=True)
    tally = Windows().look(world, world.frame()["anon"], Random(1))
    assert tally.effective < windows.FEWEST_CARRIERS / 2


def test_nodes_that_alternate_within_an_island_do_not_hide_that_islands_alternate_between_sockets() -> None:
    """Islands lie on nodes 0 and 1, or on 2 and 3, page by page: a socket's share is known by islands only."""

    class TwoSockets(ByName):
        def node(self, page: int, name: int) -> int:
            return 2 * super().node(page, name) + page % 2

        def count(self, extent: object) -> dict[int, float]:
            return {0: 1, 1: 1}  # not asked for here

    world = Extents({"anon": [(0, TIB // 4)]}, islands(Random(2), TIB // 4, 0.02), {"anon": TwoSockets(2)}, scans=True)
    found, rng = Windows(), Random(2)
    tally = max((found.look(world, world.frame()["anon"], rng) for _ in range(3)), key=lambda one: one.effective)
    hits = sum(len(asked.pages) for asked in tally.asked)
    assert tally.effective < hits / 2


def test_one_node_only() -> None:
    world = Extents({"anon": [(0, 64 * GIB)]}, islands(Random(1), 64 * GIB, 0.05), {"anon": Stride(1, 1)}, scans=True)
    tally = Windows().look(world, world.frame()["anon"], Random(1))
    carriers = sum(bool(asked.pages) for asked in tally.asked)
    assert 30 <= tally.effective <= carriers * 1.01


@pytest.mark.parametrize("seed", range(8))
def test_a_frame_of_one_page(seed: int) -> None:
    world = Extents({"anon": [(7, 8)]}, [Extent(7, 8, 0)], {"anon": Stride(1, 1)}, scans=True)
    assert Windows().look(world, [(7, 8)], Random(seed)).pages in (0, 1, 2)
