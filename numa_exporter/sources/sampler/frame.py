"""Where a process can have pages, and how many the kernel says it has."""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, replace

from numa_exporter.formats.backing import Backing
from numa_exporter.formats.proc_status import Status
from numa_exporter.sources.sampler.intervals import Intervals, joined
from numa_exporter.sources.sampler.space import Interval

Frame = Mapping[Backing, Intervals]
"""Intervals of page numbers by backing."""

_FILE: tuple[Backing, ...] = ("file", "driver")
_SHMEM: tuple[Backing, ...] = ("shmem", "shmem_anon")


def frame_of(spans: Mapping[Backing, list[tuple[int, int]]], page_bytes: int) -> Frame:
    """Spans in bytes, as ``formats.maps.spans`` gives them."""
    shift = page_bytes.bit_length() - 1
    return {backing: joined((low >> shift, high >> shift) for low, high in found) for backing, found in spans.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Resident:
    """The kernel's counters in pages. ``anon``, ``file`` and ``shmem`` are None before 4.5, which has ``total`` only;
    ``total`` counts no huge pages of hugetlb."""

    total: int
    anon: int | None = None
    file: int | None = None
    shmem: int | None = None
    hugetlb: int = 0

    @property
    def pages(self) -> int:
        return self.total + self.hugetlb

    def moved(self, found: Mapping[Backing, float]) -> "Resident":
        """With the written pages of private file mappings counted where maps shows them: the kernel calls them
        anonymous, their mapping is a file. ``found``: pages by backing as they were sampled."""
        if self.anon is None or self.file is None:
            return self
        copied = sum(found.get(backing, 0.0) for backing in _FILE) - self.file
        copied = min(self.anon, max(0, round(copied)))
        return replace(self, anon=self.anon - copied, file=self.file + copied)

    def by_backing(self, found: Mapping[Backing, float]) -> dict[Backing, float]:
        """Pages by backing, for the backings in ``found``: several share a counter as they share ``found``."""
        if self.anon is None or self.file is None or self.shmem is None:
            groups: tuple[tuple[int, tuple[Backing, ...]], ...] = ((self.total, ("anon", *_FILE, *_SHMEM)),)
        else:
            groups = ((self.anon, ("anon",)), (self.file, _FILE), (self.shmem, _SHMEM))
        shares: dict[Backing, float] = {}
        for count, backings in (*groups, (self.hugetlb, ("hugetlb",))):
            here = [backing for backing in backings if backing in found]
            whole = sum(found[backing] for backing in here) + len(here)
            shares |= {backing: count * (found[backing] + 1) / whole for backing in here}
        return shares


def resident_of(status: Status, page_bytes: int) -> Resident:
    """The counters of /proc/PID/status."""

    def pages(count: int | None) -> int | None:
        return None if count is None else count // page_bytes

    return Resident(
        total=pages(status.resident_bytes) or 0,
        anon=pages(status.resident_anon_bytes),
        file=pages(status.resident_file_bytes),
        shmem=pages(status.resident_shmem_bytes),
        hugetlb=pages(status.hugetlb_bytes) or 0,
    )


STRATA = (1 << 14, 1 << 20, 1 << 26)
"""Interval lengths in pages that part small mappings, ordinary ones, large ones and reservations (64 MiB, 4 GiB,
256 GiB of 4 KiB pages)."""


def strata(intervals: Intervals) -> dict[int, Intervals]:
    """The intervals of one backing by their length. A dense heap and a thinly used reservation of a terabyte need other
    densities, and their length tells them apart before any page was asked for."""
    found: dict[int, list[Interval]] = {}
    for interval in intervals:
        found.setdefault(bisect_right(STRATA, interval[1] - interval[0]), []).append(interval)
    return dict(found)
