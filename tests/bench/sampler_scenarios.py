"""The scenarios that the sampler must stand: each makes a world from a seed."""

from collections.abc import Callable, Mapping
from functools import partial
from random import Random
from types import MappingProxyType

from tests.bench.sampler_worlds import GIB, TIB, Boundary, ByName, Extent, Extents, Rule, Scattered, Stride, World

Scenario = Callable[[int, bool], World]
"""(seed, whether PAGEMAP_SCAN exists)"""

HUGE = 512
"""Pages of a huge page."""


def dense(rule: Rule, seed: int, scans: bool) -> World:
    """16 GiB, all resident."""
    whole = 16 * GIB
    return Extents({"anon": [(0, whole)]}, [Extent(0, whole, 0)], {"anon": rule}, scans=scans)


def clusters(rng: Random, pages: int, share: float, count: int = 8) -> list[Extent]:
    """One extent in each of equal parts."""
    part, length = pages // count, int(pages * share / count)
    return [
        Extent(at, at + length, number)
        for number in range(count)
        for at in (part * number + rng.randrange(part - length),)
    ]


def islands(rng: Random, pages: int, share: float) -> list[Extent]:
    """Aligned 2 MiB here and there."""
    blocks = pages // HUGE
    return [Extent(at * HUGE, (at + 1) * HUGE, at) for at in rng.sample(range(blocks), int(blocks * share))]


def sparse(
    lay: Callable[[Random, int, float], list[Extent]],
    pages: int,
    share: float,
    seed: int,
    scans: bool,
    *,
    by_address: bool = False,
    change: Callable[[Extents, int], None] | None = None,
) -> World:
    """Anonymous extents in a large reservation; nodes by extent, or by address."""
    rule: Rule = Boundary(pages * 6 // 10) if by_address else ByName(seed)
    return Extents(
        {"anon": [(0, pages)]},
        lay(Random(seed), pages, share),
        {"anon": rule},
        scans=scans,
        change=partial(change, seed=seed) if change else lambda world: None,
    )


def moving(world: Extents, seed: int) -> None:
    """8 % of the extents go to the upper half, which is where node 1 is."""
    rng = Random(seed * 1000 + world.look)
    pages = world.frame()["anon"][0][1]
    extents = list(world.extents)
    for _ in range(max(1, len(extents) * 8 // 100)):
        at = rng.randrange(len(extents))
        length = extents[at].end - extents[at].first
        first = rng.randrange(pages // 2, pages - length) // HUGE * HUGE
        extents[at] = Extent(first, first + length, extents[at].name)
    world.lay_out(world.frame(), extents)


def resizing(world: Extents, seed: int, *, factor: float) -> None:
    """Every extent grows or shrinks."""
    longest = world.frame()["anon"][0][1] // 16
    world.lay_out(
        world.frame(),
        [
            Extent(first, first + max(64, min(longest, int((end - first) * factor))), name)
            for first, end, name in world.extents
        ],
    )


def many_mappings(count: int, seed: int, scans: bool) -> World:
    """Small mappings, all resident; 5 % of them get another size at each look."""
    rng = Random(seed)
    intervals, at = [], 0
    for _ in range(count):
        length = rng.randrange(4, 400)
        intervals.append((at, at + length))
        at += length + rng.randrange(1, 50)
    whole = at

    def change(world: Extents) -> None:
        rng = Random(seed * 77 + world.look)
        now = list(world.frame()["anon"])
        for _ in range(count // 20):
            at = rng.randrange(count)
            first, end = now[at]
            following = now[at + 1][0] if at + 1 < count else end + 50
            now[at] = first, (min(following - 1, end + 30) if rng.random() < 0.5 else max(first + 2, end - 30))
        world.lay_out({"anon": now}, [Extent(*interval, 0) for interval in now])

    extents = [Extent(*interval, 0) for interval in intervals]
    return Extents({"anon": intervals}, extents, {"anon": Boundary(whole // 2)}, scans=scans, change=change)


def huge_pages(size: int, seed: int, scans: bool) -> World:
    """A pool of 8 GiB in a mapping of 12, each huge page on a node of its own; ``size`` in pages of 4 KiB."""
    rng = Random(seed)
    pages = rng.sample(range(12 * GIB // size), 8 * GIB // size)
    extents = [Extent(page * size, (page + 1) * size, page) for page in pages]
    return Extents({"hugetlb": [(0, 12 * GIB)]}, extents, {"hugetlb": ByName(seed)}, scans=scans)


def transparent(seed: int, scans: bool) -> World:
    """A heap of 24 GiB, two thirds of its 2 MiB blocks there, nodes by block."""
    return sparse(islands, 24 * GIB, 0.66, seed, scans)


def mixed(seed: int, scans: bool) -> World:
    """A reservation of 1 TiB 2 % full of islands, named and anonymous shared memory, huge pages, a driver's reserve of
    64 GiB with 2 GiB in it, 100 libraries."""
    rng = Random(seed)
    place = lambda number: 1100 * GIB + number * 100 * GIB  # noqa: E731
    extents = islands(rng, TIB, 0.02)
    frame = {
        "anon": [(0, TIB)],
        "shmem": [(place(0), place(0) + 6 * GIB)],
        "shmem_anon": [(place(1), place(1) + GIB)],
        "hugetlb": [(place(2), place(2) + 8 * GIB)],
        "driver": [(place(3), place(3) + 64 * GIB)],
        "file": [(place(4) + library * 1000, place(4) + library * 1000 + 400) for library in range(100)],
    }
    extents += [Extent(place(0), place(0) + 4 * GIB, 0), Extent(place(1), place(1) + GIB, 0)]
    extents += [Extent(place(2), place(2) + 8 * GIB, 0)]
    extents += [
        Extent(place(3) + GIB + 8 * GIB * part, place(3) + GIB + 8 * GIB * part + GIB // 4, part) for part in range(8)
    ]
    extents += [Extent(first, first + 200, 0) for first, _ in frame["file"]]
    rules: Mapping[str, Rule] = {
        "anon": ByName(seed),
        "shmem": Stride(3, 2),
        "shmem_anon": Boundary(place(1) + GIB // 3),
        "hugetlb": Boundary(place(2)),
        "driver": ByName(seed + 1, 0.5),
        "file": Boundary(place(5)),
    }
    return Extents(frame, extents, rules, scans=scans)  # type: ignore[arg-type]


def scattered(seed: int, scans: bool, *, pages: int, in_256: int = 3, **options: int | None) -> World:
    return Scattered(seed, pages, in_256=in_256, scans=scans, **options)


SCENARIOS: Mapping[str, Scenario] = MappingProxyType(
    {
        "dense, 60 % of the addresses on node 0": partial(dense, Boundary(16 * GIB * 6 // 10)),
        **{f"dense, interleaved by {stride}": partial(dense, Stride(stride)) for stride in (1, 3, 7, 384, 512)},
        "transparent huge pages": transparent,
        "hugetlb, 2 MiB": partial(huge_pages, HUGE),
        "hugetlb, 1 GiB": partial(huge_pages, GIB),
        "1 TiB, 1 % in clusters": partial(sparse, clusters, TIB, 0.01),
        "8 TiB, 1 % in clusters by address": partial(sparse, clusters, 8 * TIB, 0.01, by_address=True),
        "8 TiB, 5 % in clusters": partial(sparse, clusters, 8 * TIB, 0.05),
        "1 TiB, 1 % in islands": partial(sparse, islands, TIB, 0.01),
        "1 TiB, 1 % in islands, 8 % move": partial(sparse, islands, TIB, 0.01, by_address=True, change=moving),
        "1 TiB, 1 % single pages": partial(scattered, pages=TIB),
        "8 TiB, 1 % single pages": partial(scattered, pages=8 * TIB),
        "1 TiB, 5 % single pages by address": partial(scattered, pages=TIB, in_256=13, far=None),
        "1 TiB, 1 % single pages, 10 % anew": partial(scattered, pages=TIB, period=10, drift=5),
        "1 TiB, clusters growing": partial(sparse, clusters, TIB, 0.01, change=partial(resizing, factor=1.15)),
        "1 TiB, clusters shrinking": partial(sparse, clusters, TIB, 0.02, change=partial(resizing, factor=0.88)),
        "1 TiB, clusters moving": partial(sparse, clusters, TIB, 0.01, by_address=True, change=moving),
        "3,000 mappings, 5 % resized": partial(many_mappings, 3000),
        "mixed backings": mixed,
    }
)
