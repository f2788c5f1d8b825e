"""Device nodes of GPUs by their PCI function: /dev/dri/renderDN and /dev/accel/accelN."""

import re
from collections.abc import Mapping

from numa_exporter.formats.pci_address import PciAddress
from numa_exporter.sources.look import Look
from numa_exporter.sources.pci import function_of

_RENDER = re.compile(r"renderD([0-9]+)")
_ACCEL = re.compile(r"accel([0-9]+)")


def render_minors(look: Look) -> Mapping[PciAddress, int]:
    """Any DRM driver: amdgpu, i915, xe, nvidia-drm."""
    return _minors(look, "/sys/class/drm", _RENDER)


def accel_minors(look: Look) -> Mapping[PciAddress, int]:
    """Compute accelerators (Linux 6.2 and later): Habana Gaudi."""
    return _minors(look, "/sys/class/accel", _ACCEL)


def _minors(look: Look, folder: str, name_of: re.Pattern[str]) -> Mapping[PciAddress, int]:
    found: dict[PciAddress, int] = {}
    for name in look.names(folder):
        match = name_of.fullmatch(name)
        real_path = look.real(f"{folder}/{name}/device") if match else None
        address = function_of(real_path) if real_path else None
        if match and address:
            found[address] = int(match[1])
    return found
