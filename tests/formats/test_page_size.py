import pytest
from hypothesis import given
from hypothesis import strategies as st

from numa_exporter.formats import page_size

MIB = 1 << 20


@given(st.integers(min_value=10, max_value=34).map(lambda bits: 1 << bits))
def test_three_spellings_of_one_size(size: int) -> None:
    short = page_size.to_kubernetes(size)
    assert page_size.from_kubernetes(f"hugepages-{short}") == size
    assert page_size.from_cgroup(short.replace("i", "B")) == size
    assert page_size.from_sysfs(f"hugepages-{size >> 10}kB") == size


@pytest.mark.parametrize(
    ("size", "spelled"), [(64 << 10, "64Ki"), (2 * MIB, "2Mi"), (1 << 30, "1Gi"), (16 << 30, "16Gi"), (1000, "1000")]
)
def test_kubernetes_spelling(size: int, spelled: str) -> None:
    assert page_size.to_kubernetes(size) == spelled


@pytest.mark.parametrize("name", ["", "hugepages-", "hugepages-2048", "hugepages-2Mi", "power", "hugepages--1kB"])
def test_other_directory_entries_are_no_size(name: str) -> None:
    assert page_size.from_sysfs(name) is None


def test_names_of_another_place_are_no_size() -> None:
    assert page_size.from_cgroup("2Mi") is None
    assert page_size.from_kubernetes("memory") is None
