import pytest

from numa_exporter.formats import proc_devices
from numa_exporter.formats.parse_error import ParseError

TEXT = b"""Character devices:
  1 mem
  4 /dev/vc/0
195 nvidia-frontend
234 nvidia-caps
507 nvidia-uvm

Block devices:
  7 loop
259 nvidia-uvm
"""


def test_character_majors_are_told_from_block_majors() -> None:
    found = proc_devices.parse_character(TEXT, "/proc/devices")
    assert found["nvidia-uvm"] == 507
    assert found["/dev/vc/0"] == 4
    assert "loop" not in found


def test_no_devices_at_all() -> None:
    assert proc_devices.parse_character(b"", "/proc/devices") == {}


def test_a_line_that_is_neither_heading_nor_device() -> None:
    with pytest.raises(ParseError) as caught:
        proc_devices.parse_character(b"Character devices:\nxyz\n", "/proc/devices")
    assert caught.value.line_number == 2
