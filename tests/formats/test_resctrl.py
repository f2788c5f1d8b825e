import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numa_exporter.formats import resctrl
from numa_exporter.formats.parse_error import ParseError


@given(st.integers(0, 2**64 - 1))
def test_bytes_come_back(count: int) -> None:
    assert resctrl.parse(f"{count}\n".encode(), "mbm_total_bytes") == count


@pytest.mark.parametrize("word", [b"Unavailable", b"Error", b"Unassigned"])
def test_no_value_is_unknown_not_zero(word: bytes) -> None:
    assert resctrl.parse(word + b"\n", "mbm_total_bytes") is None


@pytest.mark.parametrize("data", [b"", b"unavailable\n", b"-1\n", b"1 2\n"])
def test_other_words_are_broken(data: bytes) -> None:
    with pytest.raises(ParseError):
        resctrl.parse(data, "mbm_total_bytes")


@pytest.mark.parametrize(
    ("name", "domain"),
    [
        ("mon_L3_00", 0),
        ("mon_L3_15", 15),
        ("mon_L3_100", 100),
        ("mon_sub_L3_03", 3),
        ("mon_L3_", None),
        ("mon_L2_00", None),
        ("mon_PERF_PKG_00", None),
        ("llc_occupancy", None),
    ],
)
def test_domains(name: str, domain: int | None) -> None:
    assert resctrl.domain(name) == domain


def test_a_real_tree(shared_data: Path) -> None:
    total: dict[int, int] = {}
    with tarfile.open(shared_data / "resctrl/goresctrl-full.tar.gz") as tar:
        for member in tar:
            directory, _, name = member.name.rpartition("/")
            domain = resctrl.domain(directory.rpartition("/")[2])
            reader = tar.extractfile(member)
            if domain is None or reader is None or name != "mbm_total_bytes":
                continue
            value = resctrl.parse(reader.read(), member.name)
            assert value is not None
            total[domain] = total.get(domain, 0) + value
    assert total.keys() == {0, 1, 2, 3}
    assert sum(total.values()) > 0
