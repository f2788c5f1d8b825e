from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numa_exporter.formats import interrupts
from numa_exporter.formats.parse_error import ParseError

SMALL = b"""            CPU0       CPU2
  42:     378324    1734637  IR-PCI-MSI-edge      mlx5_comp0@pci:0000:8d:00.0
  43:          7          8  IR-PCI-MSI 1-edge    eth0
IPI0:2768808080 2844211768       Rescheduling interrupts
LOC:  174326351  135776678   Local timer interrupts
ERR:          0
"""


@given(st.data(), st.sets(st.integers(0, 511), min_size=1, max_size=16))
def test_counts_come_back(data: st.DataObject, cpus: set[int]) -> None:
    counts = st.lists(st.integers(0, 2**32 - 1), min_size=len(cpus), max_size=len(cpus)).map(tuple)
    rows = data.draw(st.dictionaries(st.integers(0, 4000).map(str), counts))
    header = "           " + " ".join(f"CPU{cpu}" for cpu in sorted(cpus))
    lines = [f"{row:>4}: " + " ".join(f"{n:10}" for n in values) + "  MSI  7-edge  x" for row, values in rows.items()]
    parsed = interrupts.parse("\n".join([header, *lines]).encode(), "/proc/interrupts")
    assert (parsed.cpus, parsed.fired) == (tuple(sorted(cpus)), rows)


def test_the_header_names_the_cpus_and_offline_ones_are_missing() -> None:
    parsed = interrupts.parse(SMALL, "/proc/interrupts")
    assert parsed.cpus == (0, 2)
    assert parsed.fired == {
        "42": (378324, 1734637),
        "43": (7, 8),
        "IPI0": (2768808080, 2844211768),
        "LOC": (174326351, 135776678),
    }


def test_only_the_wanted_rows_are_read() -> None:
    assert interrupts.parse(SMALL + b"  99: garbled\n", "/proc/interrupts", rows={"43"}).fired == {"43": (7, 8)}


@pytest.mark.parametrize("line", [b"  44:  1", b"  44:  1 x", b"  44:", b"no row at all"])
def test_broken_rows_are_named(line: bytes) -> None:
    with pytest.raises(ParseError) as caught:
        interrupts.parse(b"  CPU0 CPU1\n" + line + b"\n", "/proc/interrupts")
    assert (caught.value.line_number, caught.value.line) == (2, line)


@pytest.mark.parametrize("header", [b"", b"CPU0 cpu1\n", b"  42:  1  2\n"])
def test_a_file_without_a_header_is_broken(header: bytes) -> None:
    with pytest.raises(ParseError):
        interrupts.parse(header, "/proc/interrupts")


@pytest.mark.parametrize(
    ("name", "cpus", "row", "counts"),
    [
        ("node_exporter/interrupts", 4, "46", (43078464, 130, 460171, 290)),
        ("node_exporter/interrupts_aarch64", 8, "53", (129969327, 0, 0, 0, 0, 0, 0, 0)),
        ("pcp/interrupts-1cpu-i686", 1, "11", (307009,)),
        ("pcp/interrupts-2cpu-s390x", 2, "I/O", (6989, 33457)),
        ("pcp/interrupts-8cpu-x86_64", 8, "30", (249, 54, 51, 42, 32, 37, 40, 42)),
    ],
)
def test_real_files(shared_data: Path, name: str, cpus: int, row: str, counts: tuple[int, ...]) -> None:
    parsed = interrupts.parse((shared_data / "interrupts" / name).read_bytes(), name)
    assert parsed.cpus == tuple(range(cpus))
    assert parsed.fired[row] == counts
    assert not {"ERR", "MIS", "Err"} & parsed.fired.keys()
