from pathlib import Path

import pytest

from numa_exporter.formats import driver_nvidia, pci_address
from numa_exporter.formats.driver_nvidia import Information
from numa_exporter.formats.parse_error import ParseError

INFORMATION = b"""\
Model: \t\t NVIDIA H100 80GB HBM3
IRQ:   \t\t 226
GPU UUID: \t GPU-5d8f2c1a-1111-2222-3333-444455556666
Video BIOS: \t 96.00.74.00.01
Bus Type: \t PCIe
DMA Size: \t 52 bits
DMA Mask: \t 0xfffffffffffff
Bus Location: \t 0000:8d:00.0
Device Minor: \t 4
GPU Firmware: \t 535.129.03
GPU Excluded:\t No
"""


def test_information() -> None:
    assert driver_nvidia.parse_information(INFORMATION, "information") == Information(
        model="NVIDIA H100 80GB HBM3",
        uuid="GPU-5d8f2c1a-1111-2222-3333-444455556666",
        address=pci_address.parse("0000:8d:00.0"),
        minor=4,
    )


def test_a_card_that_nobody_opened_yet() -> None:
    data = b"Model: \t\t Unknown\nGPU UUID: \t GPU-????????-????-????-????-????????????\nDevice Minor: \t 255\n"
    found = driver_nvidia.parse_information(data, "information")
    assert (found.uuid, found.address, found.minor) == (None, None, 255)


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("Node:      255\nStatus:    online\nAddress:   40000000000\nSize:      3f0000000\n", 255),
        ("Node:      2\nStatus:    offline\n", None),
        ("Node:      -1\nStatus:    online\n", None),
    ],
)
def test_numa_status(text: str, node: int | None) -> None:
    assert driver_nvidia.parse_numa_status(text.encode(), "numa_status") == node


@pytest.mark.parametrize(
    ("line", "version"),
    [
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19 18:56:32 UTC 2023", "535.129.03"),
        ("NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  580.65  Release Build  (x@y)  Thu", "580.65"),
    ],
)
def test_version(line: str, version: str) -> None:
    assert driver_nvidia.parse_version(f"{line}\nGCC version:  gcc 12\n".encode(), "version") == version


@pytest.mark.parametrize("data", [b"", b"no colon\n", b"IRQ: 5\n"])
def test_broken(data: bytes) -> None:
    for parse in (driver_nvidia.parse_information, driver_nvidia.parse_numa_status, driver_nvidia.parse_version):
        with pytest.raises(ParseError):
            parse(data, "x")


def test_real_drivers(shared_data: Path) -> None:
    found = {
        file.parent.name: driver_nvidia.parse_information(file.read_bytes(), str(file))
        for file in sorted((shared_data / "nvidia-proc").glob("*/information"))
    }
    assert found["rtx3090-590"].model == "NVIDIA GeForce RTX 3090"
    assert all(each.uuid and each.address and each.minor == 0 for each in found.values())
    nodes = {
        driver_nvidia.parse_numa_status(file.read_bytes(), str(file))
        for file in (shared_data / "nvidia-proc").glob("power9-v100/*/numa_status")
    }
    assert nodes == {250, 251, 252, 253, 254, 255}
