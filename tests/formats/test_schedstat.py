import pytest
from hypothesis import given
from hypothesis import strategies as st

from numa_exporter.formats import schedstat
from numa_exporter.formats.parse_error import ParseError
from numa_exporter.formats.schedstat import SchedStat

COUNTS = st.integers(min_value=0, max_value=(1 << 64) - 1)


@given(st.builds(SchedStat, run_ns=COUNTS, wait_ns=COUNTS, timeslices=COUNTS))
def test_three_numbers(stat: SchedStat) -> None:
    line = f"{stat.run_ns} {stat.wait_ns} {stat.timeslices}\n".encode()
    assert schedstat.parse(line, "schedstat") == stat


@pytest.mark.parametrize("data", [b"", b"1 2", b"1 2 3 4", b"1 -2 3", b"a b c", b"1.0 2 3"])
def test_anything_else_is_broken(data: bytes) -> None:
    with pytest.raises(ParseError):
        schedstat.parse(data, "schedstat")
