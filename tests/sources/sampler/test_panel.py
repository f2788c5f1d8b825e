"""The panel: known chances, no bias, budgets."""

from random import Random
from statistics import fmean, pstdev

from numa_exporter.sources.sampler.intervals import size
from numa_exporter.sources.sampler.panel import ROTATION, Panel
from tests.bench.sampler_worlds import GIB, Boundary, Extent, Extents, Scattered


class Counting:
    """A world that counts what it is asked."""

    scans = False

    def __init__(self, world: Extents | Scattered) -> None:
        self._world = world
        self.asked: list[int] = []

    def nodes(self, pages: list[int]) -> list[int]:
        self.asked += pages
        return list(self._world.nodes(pages))

    def present(self, first: int, end: int, limit: int = 0) -> None:
        raise AssertionError


def dense(pages: int) -> Extents:
    return Extents({"anon": [(0, pages)]}, [Extent(0, pages, 0)], {"anon": Boundary(pages // 4)}, scans=False)


def test_a_dense_frame_needs_as_many_points_as_hits_are_wished() -> None:
    world, panel, rng = dense(16 * GIB), Panel(), Random(1)
    for _ in range(4):
        space = Counting(world)
        panel.cover(world.frame()["anon"], 2800, rng)
        panel.plan(16 * GIB, 2600, 5600, rng)
        tally = panel.look(space, 5600, rng)
        assert abs(len(space.asked) - 2600) <= 5
        assert abs(tally.effective - 2600) <= 5
        assert abs(tally.by_node[0] / tally.pages - 0.25) < 0.001  # one jittered point in each stretch


def test_some_points_are_new_at_each_look() -> None:
    world, panel, rng = dense(16 * GIB), Panel(), Random(1)
    before: set[int] = set()
    for look in range(5):
        space = Counting(world)
        panel.cover(world.frame()["anon"], 2800, rng)
        panel.plan(16 * GIB, 2600, 5600, rng)
        panel.look(space, 5600, rng)
        if look > 1:
            assert len(set(space.asked) - before) == len(space.asked) - len(before & set(space.asked))
            assert 0.8 * 2600 / ROTATION < len(set(space.asked) - before) < 1.2 * 2600 / ROTATION
        before = set(space.asked)


def test_the_budget_holds_on_sparse_space_and_misses_are_asked_in_turn() -> None:
    world, panel = Scattered(5, 64 * GIB, in_256=3, scans=False), Panel()
    rng = Random(1)
    for _ in range(12):
        space = Counting(world)
        panel.cover(world.frame()["anon"], 2800, rng)
        panel.plan(64 * GIB * 3 / 256, 2600, 5600, rng)
        tally = panel.look(space, 5600, rng)
        assert len(space.asked) <= 5600 * 1.05
    assert panel.density * 64 * GIB > 2.5 * 5600
    assert tally.effective > 120


def test_no_bias_where_pages_come_and_go() -> None:
    """A tenth of single pages is drawn anew at each look, ever more of them on node 1. The sixth look of 30 panels:
    pages and share within three standard errors of the truth."""
    totals, shares = [], []
    for seed in range(30):
        world, panel, rng = Scattered(seed, GIB // 4, in_256=8, scans=False, period=10, drift=20), Panel(), Random(seed)
        for look in range(6):
            if look:
                world.advance()
            truth = world.truth()["anon"]
            panel.cover(world.frame()["anon"], 2800, rng)
            panel.plan(sum(truth.values()), 600, 1200, rng)
            tally = panel.look(Counting(world), 1200, rng)
        totals.append(tally.pages / sum(truth.values()) - 1)
        shares.append(tally.by_node.get(1, 0.0) / tally.pages - truth[1] / sum(truth.values()))
    for errors in (totals, shares):
        assert abs(fmean(errors)) < 3 * pstdev(errors) / len(errors) ** 0.5
    assert pstdev(shares) < 0.12


def test_points_follow_the_frame() -> None:
    world, panel, rng = dense(GIB), Panel(), Random(1)
    panel.cover([(0, GIB)], 2800, rng)
    panel.plan(GIB, 1000, 2000, rng)
    panel.look(Counting(world), 2000, rng)
    left = [(GIB // 2, GIB), (2 * GIB, 3 * GIB)]
    panel.cover(left, 2800, rng)
    space = Counting(world)
    panel.look(space, 4000, rng)
    assert all(any(first <= page < end for first, end in left) for page in space.asked)
    assert abs(len(space.asked) - panel.density * size(left)) <= 3


def test_a_sudden_gain_cannot_break_the_budget() -> None:
    world, panel, rng = dense(GIB), Panel(), Random(1)
    panel.cover([(0, GIB)], 2800, rng)
    panel.plan(GIB, 2600, 5600, rng)
    panel.look(Counting(world), 5600, rng)
    panel.cover([(0, 1000 * GIB)], 2800, rng)
    space = Counting(world)
    panel.look(space, 5600, rng)
    assert len(space.asked) < 2900
