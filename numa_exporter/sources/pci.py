"""PCI functions from sysfs: what they are, where they hang, and how wide their links are."""

from collections.abc import Sequence

from numa_exporter.formats import number, pci_address, pci_link
from numa_exporter.formats.pci_address import PciAddress
from numa_exporter.model.machine import PciFunction
from numa_exporter.sources.look import Look

DEVICES = "/sys/bus/pci/devices"


def addresses(look: Look) -> Sequence[PciAddress]:
    """Every function of the PCI tree, in lspci's order; none on a machine without PCI."""
    found = (pci_address.parse(name) for name in look.names(DEVICES))
    return sorted(address for address in found if address is not None)


def read_function(look: Look, address: PciAddress, vendor: int | None = None) -> PciFunction | None:
    """The function at an address; None where it is not there (any more).

    ``vendor`` is what another source knows where the tree does not say. numa_node is read anew each time: root can
    write it, and -1 (the firmware has no _PXM) is unknown, never node 0.
    """
    folder = f"{DEVICES}/{address.sysfs}"
    real_path = look.real(folder)
    said = look.file(f"{folder}/vendor", number.parse_hex)
    vendor = vendor if said is None else said
    pci_class = look.file(f"{folder}/class", number.parse_hex)
    if real_path is None or vendor is None or pci_class is None:
        return None
    node = look.file(f"{folder}/numa_node", number.parse)
    driver = look.real(f"{folder}/driver")
    return PciFunction(
        address=address,
        vendor=vendor,
        pci_class=pci_class,
        numa_node=None if node is None or node < 0 else node,
        real_path=real_path,
        link_width=look.file(f"{folder}/current_link_width", pci_link.parse_width),
        max_link_width=look.file(f"{folder}/max_link_width", pci_link.parse_width),
        upstream_max_link_width=_upstream_width(look, real_path),
        iommu=look.file(f"{folder}/iommu_group/type", lambda data, _: data.decode("ascii", "replace").strip() or None),
        driver=None if driver is None else driver.rpartition("/")[2],
    )


def is_virtual_function(look: Look, address: PciAddress) -> bool:
    """True for an SR-IOV function that a physical one lent out. Inside a guest it looks physical, and is the
    guest's whole device."""
    return look.real(f"{DEVICES}/{address.sysfs}/physfn") is not None


def function_of(real_path: str) -> PciAddress | None:
    """The PCI function that a class device's real path ends in; a virtio device counts as its function.

    None for anything behind another bus (a USB adapter is not its host controller) and for virtual devices.
    """
    parent, _, name = real_path.rpartition("/")
    if name.startswith("virtio"):
        name = parent.rpartition("/")[2]
    return pci_address.parse(name)


def _upstream_width(look: Look, real_path: str) -> int | None:
    """The widest link that the port above allows; None for a function on the root bus."""
    parent = real_path.rpartition("/")[0]
    if function_of(parent) is None:
        return None
    return look.file(f"{parent}/max_link_width", pci_link.parse_width)
