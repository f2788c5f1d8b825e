"""pcie_degraded: a link has fewer lanes than both of its ends could use. Speed says nothing: GPUs idle at 2.5 GT/s."""

from collections.abc import Iterator
from dataclasses import dataclass

from numa_exporter.findings import words
from numa_exporter.findings.rule import Rule
from numa_exporter.findings.scene import Scene
from numa_exporter.formats.pci_address import PciAddress
from numa_exporter.model.machine import PciFunction
from numa_exporter.model.placement import Machine, PlacedGpu
from numa_exporter.model.report import Evidence, Finding, Subject


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """Lanes that a device uses, and that it and its slot could."""

    address: PciAddress
    width: int
    possible: int


def find(scene: Scene) -> Iterator[Finding]:
    # In a guest the links are the hypervisor's invention.
    if scene.machine.virtual:
        return
    for name, subject, link in _links(scene.machine):
        if link.width >= link.possible:
            continue
        folder = f"/sys/bus/pci/devices/{link.address.sysfs}"
        yield Finding(
            code="pcie_degraded",
            level="info",
            subject=subject,
            sentence=f"{name} runs on {link.width} of the {link.possible} PCIe lanes that both ends have.",
            value=float(link.width),
            limit=float(link.possible),
            window_seconds=scene.limits.pcie_seconds,
            evidence=(
                Evidence(path=f"{folder}/current_link_width", line=str(link.width)),
                Evidence(path=f"{folder}/max_link_width", line=str(link.possible)),
            ),
            remedy=f"lspci -vv -s {link.address.sysfs} | grep -E 'LnkCap|LnkSta'",
            remedy_note="A riser, a slot wired for fewer lanes, or a link that trained down: reseat the card.\n"
            "Effect unknown.",
        )


def _links(machine: Machine) -> Iterator[tuple[str, Subject, Link]]:
    for gpu in machine.gpus:
        link = _of_gpu(gpu)
        if link:
            yield words.gpu(gpu), Subject(uuid=gpu.uuid), link
    seen: set[PciAddress] = set()
    for placed in machine.devices:
        device = placed.device
        # eth0 and mlx5_0 are two names of one function, and GPUs were told above.
        if device.device_class == "gpu" or device.function.address in seen:
            continue
        seen.add(device.function.address)
        link = _of_function(device.function, device.function.link_width, device.function.max_link_width)
        if link:
            yield f"{device.name} ({device.function.address.bus_id})", Subject(device=device.name), link


def _of_gpu(placed: PlacedGpu) -> Link | None:
    gpu, function = placed.gpu, placed.gpu.function
    if function is None:
        return None
    width = gpu.link_width if function.link_width is None else function.link_width
    most = gpu.max_link_width if function.max_link_width is None else function.max_link_width
    return _of_function(function, width, most)


def _of_function(function: PciFunction, width: int | None, most: int | None) -> Link | None:
    """None where a width is not known; 0 lanes is a link that is down or not there."""
    if not width or not most:
        return None
    possible = min(most, function.upstream_max_link_width or most)
    return Link(address=function.address, width=width, possible=possible)


RULE = Rule(
    code="pcie_degraded",
    levels=("info",),
    docs="A GPU, NIC or NVMe controller runs on fewer PCIe lanes than both ends have.",
    find=find,
    seconds=lambda limits: limits.pcie_seconds,
)
