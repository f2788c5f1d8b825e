from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numa_exporter.formats import cgroup_numa_stat
from numa_exporter.formats.parse_error import ParseError

PAGE = 4096
BY_NODE = st.dictionaries(st.integers(0, 35), st.integers(0, 2**50), max_size=8)


def line(key: str, nodes: dict[int, int]) -> str:
    return " ".join([key, *(f"N{node}={value}" for node, value in nodes.items())]) + "\n"


@given(BY_NODE, BY_NODE, BY_NODE)
def test_v2_comes_back_in_bytes(anon: dict[int, int], file: dict[int, int], shmem: dict[int, int]) -> None:
    text = line("anon", anon) + line("file", file) + line("shmem", shmem) + "workingset_nodereclaim N0=7\n"
    parsed = cgroup_numa_stat.parse_v2(text.encode(), "memory.numa_stat")
    assert (parsed.anon, parsed.file, parsed.shmem, parsed.hugetlb) == (anon, file, shmem, None)


@given(BY_NODE, st.sampled_from((4096, 16384, 65536)))
def test_v1_leaves_as_bytes(pages: dict[int, int], page_bytes: int) -> None:
    text = line("anon=3", pages) + line("hierarchical_unevictable=9", pages)
    parsed = cgroup_numa_stat.parse_v1(text.encode(), "memory.numa_stat", page_bytes)
    expected = {node: count * page_bytes for node, count in pages.items()}
    assert (parsed.own.anon, parsed.own.unevictable) == (expected, None)
    assert (parsed.hierarchical.anon, parsed.hierarchical.unevictable) == (None, expected)


def test_hugetlb_takes_the_own_line_in_bytes() -> None:
    data = b"total=16777216 N0=0 N1=16777216\nhierarchical_total=33554432 N0=16777216 N1=16777216\n"
    assert cgroup_numa_stat.parse_hugetlb(data, "hugetlb.2MB.numa_stat") == {0: 0, 1: 16777216}


def test_hugetlb_without_its_line_is_broken() -> None:
    with pytest.raises(ParseError):
        cgroup_numa_stat.parse_hugetlb(b"", "hugetlb.2MB.numa_stat")


@pytest.mark.parametrize("broken", ["anon N0", "anon N0=", "anon 0=1", "anon Nx=1", "anon N0=-1", "anon=x N0=1"])
def test_broken_lines_are_named(broken: str) -> None:
    with pytest.raises(ParseError) as caught:
        cgroup_numa_stat.parse_v2(f"file N0=0\n{broken}\n".encode(), "memory.numa_stat")
    assert (caught.value.line_number, caught.value.line) == (2, broken.encode())


def test_real_v1_files(shared_data: Path) -> None:
    data = (shared_data / "cgroup-mem/v1-4nodes/memory.numa_stat").read_bytes()
    parsed = cgroup_numa_stat.parse_v1(data, "memory.numa_stat", PAGE)
    assert parsed.own.anon == {0: 17 * PAGE, 1: 166 * PAGE, 2: 0, 3: 0}
    assert parsed.hierarchical.unevictable == {0: 0, 1: 0, 2: 0, 3: 20 * PAGE}
    for name in ("koordlet-0/", "v1-telegraf/", "pcp-cgroups-root-002/sys__fs__cgroup__memory__"):
        data = (shared_data / f"cgroup-mem/{name}memory.numa_stat").read_bytes()
        assert cgroup_numa_stat.parse_v1(data, name, PAGE).hierarchical.file, name


def test_real_v2_files(shared_data: Path) -> None:
    data = (shared_data / "cgroup-mem/v2-katalyst-2nodes/memory.numa_stat").read_bytes()
    assert cgroup_numa_stat.parse_v2(data, "memory.numa_stat").anon == {0: 1629990912, 1: 65225723904}
    data = (shared_data / "cgroup-mem/vm-4nodes-memless-cpuless-offline.memory.numa_stat").read_bytes()
    parsed = cgroup_numa_stat.parse_v2(data, "memory.numa_stat")
    assert parsed.shmem == {0: 217088, 1: 479232, 3: 0}, "node 2 has no memory and no column"
    for name in ("koordlet-2/", "vm-numa-off."):
        data = (shared_data / f"cgroup-mem/{name}memory.numa_stat").read_bytes()
        assert cgroup_numa_stat.parse_v2(data, name).anon, name


def test_an_empty_file_tells_nothing() -> None:
    assert cgroup_numa_stat.parse_v2(b"", "memory.numa_stat").anon is None
