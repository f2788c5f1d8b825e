"""Synthetic address spaces with known truth, which the real sampler samples as if they were processes.

A world answers the questions of numa_exporter.sources.sampler.space.Space. Everything in it follows from its seed.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import blake2b
from random import Random
from typing import NamedTuple, Protocol

from numa_exporter.formats.backing import Backing
from numa_exporter.sources.sampler.frame import Frame, Resident
from numa_exporter.sources.sampler.space import Present

GIB = 1 << 18
"""Pages of 4 KiB."""
TIB = 1 << 28
CALL, PAGE, HOLE = 1.4e-6, 1.05e-8, 1e-6 / GIB
"""Thread CPU seconds of a PAGEMAP_SCAN call, of each present page and of each absent one, as measured on 6.18."""

ByNode = Mapping[int, float]


class World(Protocol):
    """A process at one moment; ``advance`` goes to the next look."""

    scans: bool

    def nodes(self, pages: Sequence[int]) -> Sequence[int]: ...
    def present(self, first: int, end: int, limit: int = 0) -> Present: ...
    def frame(self) -> Frame: ...
    def truth(self) -> Mapping[Backing, ByNode]: ...
    def advance(self) -> None: ...


def resident(world: World) -> Resident:
    """The kernel's counters of a world."""
    pages = {backing: round(sum(nodes.values())) for backing, nodes in world.truth().items()}
    of = lambda *backings: sum(pages.get(backing, 0) for backing in backings)  # noqa: E731
    return Resident(
        total=of("anon", "file", "driver", "shmem", "shmem_anon"),
        anon=of("anon"),
        file=of("file", "driver"),
        shmem=of("shmem", "shmem_anon"),
        hugetlb=of("hugetlb"),
    )


class Extent(NamedTuple):
    """Resident pages [first, end); ``name`` stays with it when it moves."""

    first: int
    end: int
    name: int


class Rule(Protocol):
    """Which node a page of an extent is on, and how many pages of [first, end) are on each."""

    def node(self, page: int, name: int) -> int: ...
    def count(self, extent: Extent) -> ByNode: ...


class Boundary:
    """Node 0 below an address, node 1 from there on."""

    def __init__(self, page: int) -> None:
        self._page = page

    def node(self, page: int, name: int) -> int:
        return int(page >= self._page)

    def count(self, extent: Extent) -> ByNode:
        below = max(0, min(extent.end, self._page) - extent.first)
        return {0: below, 1: extent.end - extent.first - below}


class Stride:
    """``pages`` in a row on each of ``nodes`` in turn: interleaving."""

    def __init__(self, pages: int, nodes: int = 3) -> None:
        self._pages, self._nodes = pages, nodes

    def node(self, page: int, name: int) -> int:
        return page // self._pages % self._nodes

    def count(self, extent: Extent) -> ByNode:
        return {node: self._below(extent.end, node) - self._below(extent.first, node) for node in range(self._nodes)}

    def _below(self, page: int, node: int) -> int:
        cycles, rest = divmod(page, self._pages * self._nodes)
        return cycles * self._pages + min(self._pages, max(0, rest - node * self._pages))


class ByName:
    """Every extent wholly on node 0 or 1, node 1 with chance ``share``."""

    def __init__(self, seed: int, share: float = 0.35) -> None:
        self._seed, self._share = seed, share

    def node(self, page: int, name: int) -> int:
        return int(Random(self._seed * 1_000_003 + name).random() < self._share)

    def count(self, extent: Extent) -> ByNode:
        return {self.node(extent.first, extent.name): extent.end - extent.first}


class Extents:
    """Resident extents in a frame; ``rule`` by backing. ``change`` makes the extents of the next look."""

    def __init__(
        self,
        frame: Frame,
        extents: Sequence[Extent],
        rules: Mapping[Backing, Rule],
        *,
        scans: bool,
        change: Callable[["Extents"], None] = lambda world: None,
    ) -> None:
        self.scans = scans
        self.look = 0
        self._rules = rules
        self._change = change
        self.lay_out(frame, extents)

    def lay_out(self, frame: Frame, extents: Sequence[Extent]) -> None:
        """Take these extents, cut to the frame; what overlaps a lower one is cut off."""
        self._frame = frame
        self.extents: list[Extent] = []
        self._node_of: list[Callable[[int], int]] = []
        self._truth: dict[Backing, dict[int, float]] = {backing: {} for backing in frame}
        done = 0
        for first, end, name in sorted(extents):
            whole = Extent(max(first, done), end, name)
            if whole.first >= whole.end:
                continue
            done = whole.end
            for backing, part in self._within(whole):
                self.extents.append(part)
                for node, pages in self._rules[backing].count(part).items():
                    self._truth[backing][node] = self._truth[backing].get(node, 0.0) + pages
        self._firsts = [extent.first for extent in self.extents]
        self._ends = [extent.end for extent in self.extents]
        self._backings = [self._backing_at(extent.first) for extent in self.extents]
        self._fixed: list[int | None] = [
            next(iter(counts)) if len(counts := self._rules[backing].count(extent)) == 1 else None
            for extent, backing in zip(self.extents, self._backings, strict=True)
        ]

    def _within(self, extent: Extent) -> Iterator[tuple[Backing, Extent]]:
        for backing, intervals in self._frame.items():
            at = max(0, bisect_right(intervals, (extent.first, 1 << 60)) - 1)
            for low, high in intervals[at:]:
                if low >= extent.end:
                    break
                if high > extent.first:
                    yield backing, Extent(max(low, extent.first), min(high, extent.end), extent.name)

    def _backing_at(self, page: int) -> Backing:
        for backing, intervals in self._frame.items():
            at = bisect_right(intervals, (page, 1 << 60)) - 1
            if at >= 0 and page < intervals[at][1]:
                return backing
        raise ValueError(page)

    def frame(self) -> Frame:
        return self._frame

    def truth(self) -> Mapping[Backing, ByNode]:
        return self._truth

    def advance(self) -> None:
        self.look += 1
        self._change(self)

    def nodes(self, pages: Sequence[int]) -> Sequence[int]:
        found = []
        for page in pages:
            at = bisect_right(self._firsts, page) - 1
            if at < 0 or page >= self._ends[at]:
                found.append(-2)
                continue
            fixed = self._fixed[at]
            if fixed is None:
                fixed = self._rules[self._backings[at]].node(page, self.extents[at].name)
            found.append(fixed)
        return found

    def present(self, first: int, end: int, limit: int = 0) -> Present:
        at = bisect_right(self._ends, first)
        ranges: list[tuple[int, int]] = []
        pages = 0
        while at < len(self._firsts) and self._firsts[at] < end:
            low, high = max(first, self._firsts[at]), min(end, self._ends[at])
            if limit:
                high = min(high, low + limit - pages)
            if ranges and ranges[-1][1] == low:
                ranges[-1] = ranges[-1][0], high
            else:
                ranges.append((low, high))
            pages += high - low
            if limit and pages >= limit:
                break
            at += 1
        walked = (ranges[-1][1] if limit and ranges else end) - first
        return ranges, CALL + pages * PAGE + (walked - pages) * HOLE


WORD = 64


class Scattered:
    """Single pages at random: each page of [0, pages) resident with chance ``in_256``/256, on node 1 with ``far`` of
    256. All is drawn anew every ``period`` looks, each 64 pages at their own time; ``far`` drifts with each drawing."""

    def __init__(
        self, seed: int, pages: int, *, in_256: int, scans: bool, far: int | None = 90, period: int = 0, drift: int = 0
    ) -> None:
        self.scans = scans
        self._key = seed.to_bytes(8, "little")
        self._pages, self._in_256, self._far, self._period, self._drift = pages, in_256, far, period, drift
        self._look = 0
        self._words: dict[int, tuple[int, int]] = {}

    def frame(self) -> Frame:
        return {"anon": [(0, self._pages)]}

    def advance(self) -> None:
        self._look += 1
        if self._period:
            self._words = {}

    def truth(self) -> Mapping[Backing, ByNode]:
        """The expectation: of millions of pages the actual share differs by 0.03 points."""
        total = self._pages * self._in_256 / 256
        if self._far is None:
            return {"anon": {0: total * 0.6, 1: total * 0.4}}
        epochs = self._look / self._period if self._period else 0.0
        whole, part = int(epochs), epochs - int(epochs)
        far = (1 - part) * self._far_at(whole) + part * self._far_at(whole + 1)
        return {"anon": {0: total * (1 - far / 256), 1: total * far / 256}}

    def _far_at(self, epoch: int) -> int:
        return min(230, (self._far or 0) + self._drift * epoch)

    def _word(self, number: int) -> tuple[int, int]:
        """Bits of the resident ones of 64 pages, and of those on node 1."""
        found = self._words.get(number)
        if found is None:
            epoch = 0
            if self._period:
                phase = self._bits(number, 1 << 20)[0] / 2**64
                epoch = int(self._look / self._period + phase)
            here = _chance(self._bits(number, 2 * epoch), self._in_256)
            far = _chance(self._bits(number, 2 * epoch + 1), self._far_at(epoch)) if self._far is not None else 0
            if self._far is None:
                far = (1 << WORD) - 1 if number * WORD >= 0.6 * self._pages else 0
            found = self._words[number] = here, far
            if len(self._words) > 100_000:
                self._words = {}
        return found

    def _bits(self, number: int, draw: int) -> tuple[int, ...]:
        digest = blake2b(number.to_bytes(8, "little") + draw.to_bytes(8, "little"), key=self._key).digest()
        return tuple(int.from_bytes(digest[at : at + 8], "little") for at in range(0, 64, 8))

    def nodes(self, pages: Sequence[int]) -> Sequence[int]:
        found = []
        for page in pages:
            here, far = self._word(page // WORD)
            bit = page % WORD
            found.append(far >> bit & 1 if here >> bit & 1 else -2)
        return found

    def present(self, first: int, end: int, limit: int = 0) -> Present:
        ranges: list[tuple[int, int]] = []
        pages = 0
        for number in range(first // WORD, -(-end // WORD)):
            bits = self._word(number)[0]
            while bits:
                lowest = bits & -bits
                bits ^= lowest
                page = number * WORD + lowest.bit_length() - 1
                if not first <= page < end:
                    continue
                if ranges and ranges[-1][1] == page:
                    ranges[-1] = ranges[-1][0], page + 1
                else:
                    ranges.append((page, page + 1))
                pages += 1
                if pages == limit:
                    return ranges, CALL
        return ranges, CALL + (end - first) * PAGE


def _chance(words: Sequence[int], in_256: int) -> int:
    """Bits that are set with a chance of ``in_256``/256 each, of eight words of random bits."""
    made = 0
    for place, word in enumerate(words):
        made = made | word if in_256 >> place & 1 else made & word
    return made
