import pytest
from hypothesis import given
from hypothesis import strategies as st

from numa_exporter.formats.pci_path import components, path_class

ROOT = "/sys/devices/pci0000:80"
PORT = f"{ROOT}/0000:80:01.0"
SWITCH = f"{PORT}/0000:81:00.0"
GPU = f"{SWITCH}/0000:82:00.0/0000:83:00.0"
NIC_SAME_SWITCH = f"{SWITCH}/0000:82:04.0/0000:84:00.0"
NIC_SECOND_SWITCH = f"{SWITCH}/0000:82:08.0/0000:85:00.0/0000:86:00.0/0000:87:00.0"
NIC_OTHER_PORT = f"{ROOT}/0000:80:03.0/0000:90:00.0"
NIC_OTHER_BRIDGE = "/sys/devices/pci0000:00/0000:00:1c.4/0000:03:00.0"
GRACE = "/sys/devices/platform/NVDA2010:00/pci0009:00/0009:00:00.0/0009:01:00.0"

PATHS = st.sampled_from((GPU, NIC_SAME_SWITCH, NIC_SECOND_SWITCH, NIC_OTHER_PORT, NIC_OTHER_BRIDGE, GRACE, "/sys"))
NODES = st.sampled_from((None, 0, 1))


@pytest.mark.parametrize(
    ("other", "node", "expected"),
    [
        (GPU, 1, "X"),
        (NIC_SAME_SWITCH, 1, "PIX"),
        (NIC_SECOND_SWITCH, 1, "PXB"),
        (NIC_OTHER_PORT, 1, "PHB"),
        (NIC_OTHER_BRIDGE, 1, "NODE"),
        (NIC_OTHER_BRIDGE, 0, "SYS"),
        (NIC_OTHER_BRIDGE, None, None),
        (GRACE, 0, "SYS"),
        ("/sys/devices/virtual/net/lo", 1, None),
    ],
)
def test_each_class(other: str, node: int | None, expected: str | None) -> None:
    assert path_class(GPU, other, 1, node) == expected


def test_functions_of_one_device_and_of_one_root_port_are_pix() -> None:
    assert path_class(f"{PORT}/0000:81:00.0", f"{PORT}/0000:81:00.1", None, None) == "PIX"


def test_endpoints_of_one_root_complex_are_phb() -> None:
    assert path_class(f"{ROOT}/0000:80:00.0", f"{ROOT}/0000:80:08.0", None, None) == "PHB"


def test_what_hangs_below_a_function_is_not_part_of_the_path() -> None:
    assert components(f"{GPU}/net/eth0") == components(GPU)
    assert components(GPU) == ("pci0000:80", "0000:80:01.0", "0000:81:00.0", "0000:82:00.0", "0000:83:00.0")


@given(PATHS, PATHS, NODES, NODES)
def test_the_path_has_no_direction(a: str, b: str, node_a: int | None, node_b: int | None) -> None:
    assert path_class(a, b, node_a, node_b) == path_class(b, a, node_b, node_a)
