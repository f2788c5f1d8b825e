"""Frames from maps, counters by backing."""

import pytest

from numa_exporter.formats.proc_status import parse
from numa_exporter.sources.sampler.frame import Resident, frame_of, resident_of, strata


def test_a_frame_counts_pages_of_the_base_size() -> None:
    spans = {"anon": [(0x400000, 0x410000), (0x410000, 0x420000)], "file": [(0x10000000, 0x10020000)]}
    assert frame_of(spans, 4096) == {"anon": [(0x400, 0x420)], "file": [(0x10000, 0x10020)]}  # type: ignore[arg-type]
    assert frame_of(spans, 65536) == {"anon": [(0x40, 0x42)], "file": [(0x1000, 0x1002)]}  # type: ignore[arg-type]


def test_strata_part_small_mappings_from_reservations() -> None:
    heap, large, huge = (0, 1 << 13), (1 << 20, (1 << 20) + (1 << 16)), (1 << 30, 1 << 31)
    assert strata([heap, large, huge]) == {0: [heap], 1: [large], 3: [huge]}


def test_counters_are_shared_out_as_was_found() -> None:
    resident = Resident(total=1000, anon=600, file=300, shmem=100, hugetlb=512)
    found = {"anon": 580.0, "file": 199.0, "driver": 99.0, "shmem": 9.0, "shmem_anon": 29.0, "hugetlb": 512.0}
    shared = resident.by_backing(found)  # type: ignore[arg-type]
    assert shared == pytest.approx(
        {"anon": 600, "file": 200, "driver": 100, "shmem": 25, "shmem_anon": 75, "hugetlb": 512}
    )
    assert sum(shared.values()) == pytest.approx(resident.pages)


def test_a_counter_whose_backing_is_not_mapped_is_nobodys() -> None:
    assert Resident(total=9, anon=5, file=3, shmem=1).by_backing({"anon": 9.0}) == {"anon": 5.0}


def test_written_pages_of_private_file_mappings_are_file() -> None:
    """The kernel counts 40 of them as anonymous; the sample found 140 pages in file mappings."""
    resident = Resident(total=1000, anon=900, file=100, shmem=0)
    moved = resident.moved({"anon": 860.0, "file": 130.0, "driver": 10.0})
    assert (moved.anon, moved.file, moved.pages) == (860, 140, 1000)
    assert resident.moved({"anon": 900.0, "file": 80.0}) == resident
    assert resident.moved({"file": 1e9}).anon == 0


def test_before_4_5_there_is_one_counter() -> None:
    status = parse(b"Name:\tengine\nVmRSS:\t    4000 kB\n", "status")
    resident = resident_of(status, 4096)
    assert resident == Resident(total=1000)
    assert resident.moved({"file": 1e9}) == resident
    shared = resident.by_backing({"anon": 899.0, "file": 99.0, "hugetlb": 5.0})
    assert shared == pytest.approx({"anon": 900, "file": 100, "hugetlb": 0})


def test_counters_of_a_new_kernel() -> None:
    text = b"Name:\tx\nVmRSS:\t44 kB\nRssAnon:\t20 kB\nRssFile:\t16 kB\nRssShmem:\t8 kB\nHugetlbPages:\t2048 kB\n"
    assert resident_of(parse(text, "status"), 4096) == Resident(total=11, anon=5, file=4, shmem=2, hugetlb=512)
