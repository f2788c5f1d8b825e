from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numa_exporter.formats import vmstat
from numa_exporter.formats.parse_error import ParseError

NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,30}", fullmatch=True)


@given(st.dictionaries(NAMES, st.integers(min_value=0, max_value=2**64 - 1), min_size=1))
def test_counters_come_back(counters: dict[str, int]) -> None:
    text = "".join(f"{name} {value}\n" for name, value in counters.items())
    assert vmstat.counters(text.encode(), "/proc/vmstat") == counters


def test_a_kernel_without_numa_balancing_has_no_hint_faults() -> None:
    parsed = vmstat.parse(b"nr_free_pages 977769\npgmigrate_success 1048\npgmigrate_fail 0\n", "/proc/vmstat")
    assert (parsed.numa_hint_faults, parsed.pgmigrate_success, parsed.pgmigrate_fail) == (None, 1048, 0)


@pytest.mark.parametrize("data", [b"", b"numa_hint_faults\n", b"a 1 2\n", b"a b\n", b"a 1\n\nb 2\n"])
def test_broken_lines_are_refused(data: bytes) -> None:
    with pytest.raises(ParseError):
        vmstat.parse(data, "/proc/vmstat")


def test_a_real_file(shared_data: Path) -> None:
    parsed = vmstat.parse((shared_data / "interrupts/node_exporter/vmstat").read_bytes(), "/proc/vmstat")
    assert (parsed.numa_hint_faults, parsed.numa_hint_faults_local, parsed.numa_pages_migrated) == (0, 0, 0)
