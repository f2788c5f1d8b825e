import pytest
from hypothesis import given
from hypothesis import strategies as st

from numa_exporter.formats import pci_address
from numa_exporter.formats.pci_address import PciAddress

ADDRESSES = st.builds(
    PciAddress,
    domain=st.integers(0, 0xFFFFFFFF),
    bus=st.integers(0, 0xFF),
    device=st.integers(0, 0x1F),
    function=st.integers(0, 7),
)


@given(ADDRESSES)
def test_both_spellings_come_back(address: PciAddress) -> None:
    assert pci_address.parse(address.sysfs) == address
    assert pci_address.parse(address.bus_id) == address


@given(ADDRESSES)
def test_a_location_is_bus_device_and_function(address: PciAddress) -> None:
    location = address.bus << 8 | address.device << 3 | address.function
    assert pci_address.from_location(address.domain, location) == address


@pytest.mark.parametrize(
    ("text", "sysfs", "bus_id"),
    [
        ("0000:8d:00.0", "0000:8d:00.0", "00000000:8D:00.0"),
        ("00000000:8D:00.0", "0000:8d:00.0", "00000000:8D:00.0"),
        ("10000:e1:1f.7", "10000:e1:1f.7", "00010000:E1:1F.7"),
    ],
)
def test_real_spellings(text: str, sysfs: str, bus_id: str) -> None:
    address = pci_address.parse(text)
    assert address is not None
    assert (address.sysfs, str(address), address.bus_id) == (sysfs, sysfs, bus_id)


@pytest.mark.parametrize(
    "text", ["", "pci0000:80", "8d:00.0", "0000:8d:00", "0000:8d:20.0", "0000:8d:00.8", "0000:8d:00.0:pcie001"]
)
def test_other_names_are_no_address(text: str) -> None:
    assert pci_address.parse(text) is None


def test_addresses_sort_by_number_not_by_text() -> None:
    far, near = pci_address.parse("10000:00:00.0"), pci_address.parse("0002:00:00.0")
    assert far is not None and near is not None
    assert near < far
