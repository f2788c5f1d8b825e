"""Which PCI function is a GPU, told from its vendor and class alone (no driver library needed).

include/linux/pci_ids.h; sysfs prints the class with its programming interface (``number.parse_hex``)::

    0x030000        /sys/bus/pci/devices/…/class: VGA compatible controller
    0x030200        3D controller: a data-centre GPU without a display
    0x038000        display controller, other (AMD Instinct)
    0x120000        processing accelerator (Intel Gaudi)
"""

_DISPLAY_VGA = 0x0300
_DISPLAY_3D = 0x0302
_DISPLAY_OTHER = 0x0380
_PROCESSING_ACCELERATOR = 0x1200
_GPU_CLASSES = frozenset({_DISPLAY_VGA, _DISPLAY_3D, _DISPLAY_OTHER, _PROCESSING_ACCELERATOR})

NVIDIA = 0x10DE
AMD = 0x1002
INTEL = 0x8086
HABANA = 0x1DA3
# A list of makers, not "every VGA": a BMC (ASPEED 1a03, Matrox 102b) and a virtual adapter (QEMU 1234,
# virtio 1af4, VMware 15ad, Cirrus 1013, Hyper-V 1414) have class 0300 too and compute nothing.
_GPU_VENDORS = frozenset({NVIDIA, AMD, INTEL, HABANA})


def is_gpu(vendor: int, pci_class: int) -> bool:
    """``pci_class`` is sysfs's 24-bit number; its lowest byte (programming interface) does not matter."""
    return vendor in _GPU_VENDORS and pci_class >> 8 in _GPU_CLASSES
