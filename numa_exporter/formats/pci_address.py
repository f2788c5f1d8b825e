"""The address of a PCI function: domain, bus, device, function.

drivers/pci/probe.c:pci_setup_device prints ``%04x:%02x:%02x.%d``; NVML (nvml.h, nvmlPciInfo_t) and
dcgm-exporter's ``pci_bus_id`` print ``%08X:%02X:%02X.0``::

    0000:8d:00.0            sysfs, /proc/driver/nvidia/gpus
    10000:e1:00.0           sysfs behind an Intel VMD: a domain may exceed four digits
    00000000:8D:00.0        NVML busId, dcgm-exporter pci_bus_id
    0000:8D:00.0            NVML busIdLegacy

Never cut or pad such strings: parse and render.
"""

import re
from dataclasses import dataclass

_ADDRESS = re.compile(r"([0-9a-fA-F]{4,8}):([0-9a-fA-F]{2}):([01][0-9a-fA-F])\.([0-7])")


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class PciAddress:
    """Ordered as lspci orders."""

    domain: int
    bus: int
    device: int
    function: int

    @property
    def sysfs(self) -> str:
        """``0000:8d:00.0``: the directory below /sys/bus/pci/devices."""
        return f"{self.domain:04x}:{self.bus:02x}:{self.device:02x}.{self.function}"

    @property
    def bus_id(self) -> str:
        """``00000000:8D:00.0``: NVML's busId and the label ``pci_bus_id``."""
        return f"{self.domain:08X}:{self.bus:02X}:{self.device:02X}.{self.function}"

    def __str__(self) -> str:
        return self.sysfs


def parse(text: str) -> PciAddress | None:
    """Any of the forms above; None for other text, for this is asked of directory and path components."""
    match = _ADDRESS.fullmatch(text)
    if match is None:
        return None
    domain, bus, device, function = (int(part, 16) for part in match.groups())
    return PciAddress(domain=domain, bus=bus, device=device, function=function)


def from_location(domain: int, location: int) -> PciAddress:
    """``location`` is bus << 8 | device << 3 | function (include/linux/pci.h:pci_dev_id; KFD's location_id)."""
    return PciAddress(domain=domain, bus=location >> 8 & 0xFF, device=location >> 3 & 0x1F, function=location & 0x7)
