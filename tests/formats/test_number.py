import pytest
from hypothesis import given
from hypothesis import strategies as st

from numa_exporter.formats import number
from numa_exporter.formats.parse_error import ParseError


@given(st.integers())
def test_every_integer_comes_back(value: int) -> None:
    assert number.parse(f"{value}\n".encode(), "/sys/x") == value


@given(st.integers(min_value=0, max_value=2**64))
def test_every_hexadecimal_number_comes_back(value: int) -> None:
    assert number.parse_hex(f"0x{value:06x}\n".encode(), "/sys/x") == value


@pytest.mark.parametrize(
    "data", [b"", b"\n", b"1 2", b"1_000", b"+1", b"0x10", b"1.0", b"max", "٣".encode(), b"9" * 5000]
)
def test_what_no_kernel_prints_is_refused(data: bytes) -> None:
    with pytest.raises(ParseError):
        number.parse(data, "/sys/x")


@pytest.mark.parametrize("data", [b"", b"10de", b"0x", b"0xzz", b"-0x1"])
def test_hexadecimal_needs_its_prefix(data: bytes) -> None:
    with pytest.raises(ParseError):
        number.parse_hex(data, "/sys/x")


def test_the_error_names_file_line_and_expectation() -> None:
    with pytest.raises(ParseError) as caught:
        number.count(b"-3", "/proc/vmstat", 7, b"numa_hint_faults -3")
    assert str(caught.value) == ("/proc/vmstat:7: expected a non-negative decimal integer, found 'numa_hint_faults -3'")
