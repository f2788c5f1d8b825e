import pytest

from numa_exporter.formats import pci_class


@pytest.mark.parametrize(
    ("name", "vendor", "function_class"),
    [
        ("NVIDIA GeForce", 0x10DE, 0x030000),
        ("NVIDIA H100", 0x10DE, 0x030200),
        ("AMD Instinct MI210", 0x1002, 0x038000),
        ("AMD Instinct MI300X", 0x1002, 0x120000),
        ("Intel Data Center GPU Max", 0x8086, 0x038000),
        ("Intel Gaudi 2", 0x1DA3, 0x120000),
    ],
)
def test_gpus(name: str, vendor: int, function_class: int) -> None:
    assert pci_class.is_gpu(vendor, function_class), name


@pytest.mark.parametrize(
    ("name", "vendor", "function_class"),
    [
        ("ASPEED BMC", 0x1A03, 0x030000),
        ("Matrox G200 in an iDRAC", 0x102B, 0x030000),
        ("QEMU standard VGA", 0x1234, 0x030000),
        ("virtio GPU", 0x1AF4, 0x038000),
        ("VMware SVGA", 0x15AD, 0x030000),
        ("NVIDIA's audio function", 0x10DE, 0x040300),
        ("NVIDIA NVSwitch", 0x10DE, 0x068000),
        ("Intel NIC", 0x8086, 0x020000),
    ],
)
def test_near_misses(name: str, vendor: int, function_class: int) -> None:
    assert not pci_class.is_gpu(vendor, function_class), name
