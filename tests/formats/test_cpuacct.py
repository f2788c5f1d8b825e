import pytest
from hypothesis import given
from hypothesis import strategies as st

from numa_exporter.formats import cpuacct
from numa_exporter.formats.parse_error import ParseError


@given(st.dictionaries(st.integers(0, 1023), st.integers(0, 2**64 - 1), min_size=1))
def test_columns_follow_the_possible_cpus(usage: dict[int, int]) -> None:
    text = " ".join(str(usage[cpu]) for cpu in sorted(usage)) + " \n"
    assert cpuacct.parse(text.encode(), "cpuacct.usage_percpu", usage.keys()) == usage


@pytest.mark.parametrize("data", [b"", b"1\n", b"1 2 3\n", b"1 -2\n"])
def test_a_row_of_another_length_or_kind_is_refused(data: bytes) -> None:
    with pytest.raises(ParseError):
        cpuacct.parse(data, "cpuacct.usage_percpu", range(2))
