import pytest

from numa_exporter.formats import pci_link
from numa_exporter.formats.parse_error import ParseError


@pytest.mark.parametrize(
    ("data", "speed"),
    [
        (b"16.0 GT/s PCIe\n", 16.0),
        (b"2.5 GT/s PCIe\n", 2.5),
        (b"8 GT/s\n", 8.0),
        (b"Unknown\n", None),
        (b"Unknown speed\n", None),
    ],
)
def test_speeds(data: bytes, speed: float | None) -> None:
    assert pci_link.parse_speed(data, "current_link_speed") == speed


@pytest.mark.parametrize(("data", "width"), [(b"16\n", 16), (b"1\n", 1), (b"0\n", None), (b"255\n", None)])
def test_widths(data: bytes, width: int | None) -> None:
    assert pci_link.parse_width(data, "current_link_width") == width


@pytest.mark.parametrize("data", [b"", b"fast", b"16.0 GB/s", b"16. GT/s"])
def test_other_speeds_are_broken(data: bytes) -> None:
    with pytest.raises(ParseError):
        pci_link.parse_speed(data, "current_link_speed")


def test_a_width_is_a_number() -> None:
    with pytest.raises(ParseError):
        pci_link.parse_width(b"x16\n", "current_link_width")
