import pytest
from hypothesis import given
from hypothesis import strategies as st

from numa_exporter.formats import cpuset, idlist
from numa_exporter.formats.cpuset import Partition
from numa_exporter.formats.parse_error import ParseError


@given(st.frozensets(st.integers(0, 1023)))
def test_effective_sets_come_back(ids: frozenset[int]) -> None:
    assert cpuset.parse_effective(f"{idlist.render(ids)}\n".encode(), "cpuset.cpus.effective") == ids


def test_an_empty_request_inherits_and_an_empty_effective_set_is_empty() -> None:
    assert cpuset.parse_requested(b"\n", "cpuset.cpus") is None
    assert cpuset.parse_requested(b"0-1\n", "cpuset.mems") == {0, 1}
    assert cpuset.parse_effective(b"\n", "cpuset.cpus.effective") == frozenset()


@pytest.mark.parametrize(
    ("data", "word", "valid", "reason"),
    [
        (b"member\n", "member", True, None),
        (b"root\n", "root", True, None),
        (b"isolated\n", "isolated", True, None),
        (b"root invalid\n", "root", False, None),
        (b"root invalid (Parent is not a partition root)\n", "root", False, "Parent is not a partition root"),
        (b"isolated invalid (Cpu list (0-3) taken)\n", "isolated", False, "Cpu list (0-3) taken"),
    ],
)
def test_partitions(data: bytes, word: str, valid: bool, reason: str | None) -> None:
    expected = Partition(word=word, valid=valid, reason=reason)
    assert cpuset.parse_partition(data, "cpuset.cpus.partition") == expected


@pytest.mark.parametrize("data", [b"", b"leaf\n", b"root invalid because\n", b"member 0-3\n"])
def test_other_words_are_no_partition(data: bytes) -> None:
    with pytest.raises(ParseError):
        cpuset.parse_partition(data, "cpuset.cpus.partition")


def test_a_broken_list_is_refused() -> None:
    with pytest.raises(ParseError):
        cpuset.parse_effective(b"0-3-5\n", "cpuset.cpus.effective")
