"""GPUs and who has a context on them.

The PCI tree says which there are, the drivers' own files who they are, NVML and KFD who holds them. Without a
library there are still all GPUs, only without contexts.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from numa_exporter.formats import number, pci_class
from numa_exporter.formats.pci_address import PciAddress
from numa_exporter.model.gpus import Gpu, Gpus
from numa_exporter.model.machine import PciFunction
from numa_exporter.model.sample import Sample
from numa_exporter.sources import amd, drm, nvidia, pci
from numa_exporter.sources.host import Host, HostError
from numa_exporter.sources.look import Look
from numa_exporter.sources.source import Outcome

_VENDORS: Mapping[int, Literal["nvidia", "amd", "intel"]] = {
    pci_class.NVIDIA: "nvidia",
    pci_class.AMD: "amd",
    pci_class.INTEL: "intel",
    pci_class.HABANA: "intel",  # Gaudi, bought in 2019
}


class GpusReader:
    """Reader of Gpus. Once NVML has answered, its silence is a failure; a GPU then keeps the identity that NVML gave
    it, and nobody's contexts are known."""

    def __init__(self) -> None:
        self._known: dict[PciAddress, Gpu] = {}
        self._answered = False

    def read(self, host: Host, sample: Sample) -> Outcome[Gpus]:
        look = Look(host)
        tree = tree_gpus(look)
        now = host.now("gpus")
        count = look.nvml("DeviceGetCount")
        answers = dict(nvidia.nvml_gpus(look, count)) if isinstance(count, int) else {}
        self._answered |= isinstance(count, int)
        gpus = {
            address: self._merged(tree.get(address), answers.get(address), address) for address in {*tree, *answers}
        }
        version = look.nvml("SystemGetDriverVersion") if answers else None
        value = Gpus(
            gpus=tuple(_told_apart(look, gpus)),
            driver_version=version if isinstance(version, str) else driver_version(look),
            nvml=self._answered,
            contexts_at=now.wall if any(gpu.contexts is not None for gpu in gpus.values()) else None,
        )
        return Outcome(value=value, failure=look.failure, counts=look.failures.counts)

    def _merged(self, tree: Gpu | None, answer: Gpu | None, address: PciAddress) -> Gpu:
        if answer is not None:
            self._known[address] = answer
        elif address in self._known:
            answer = replace(self._known[address], contexts=None, pcie_rx_bytes=None, pcie_tx_bytes=None)
        if tree is None or answer is None:
            found = answer or tree
            assert found is not None, "an address is in the tree or in the answers"
            return found
        return replace(
            answer,
            function=tree.function,
            memory_node=tree.memory_node,
            render_minor=tree.render_minor,
            minor=tree.minor if answer.minor is None else answer.minor,
            model=answer.model or tree.model,
            link_width=tree.link_width if answer.link_width is None else answer.link_width,
            max_link_width=tree.max_link_width if answer.max_link_width is None else answer.max_link_width,
        )


def _told_apart(look: Look, gpus: Mapping[PciAddress, Gpu]) -> Iterator[Gpu]:
    """In PCI order. Two GPUs with one UUID would be one series twice: the later ones go by their address."""
    seen: set[str] = set()
    for address in sorted(gpus):
        gpu = gpus[address]
        if gpu.uuid in seen:
            detail = f"{gpu.uuid} was told of an earlier GPU as well"
            look.failures.add(HostError("garbled", f"uuid of {address.sysfs}", detail))
            gpu = replace(gpu, uuid=address.bus_id)
        seen.add(gpu.uuid)
        yield gpu


@dataclass(frozen=True, slots=True, kw_only=True)
class Drivers:
    """What the drivers' own files say, by PCI address."""

    nvidia: frozenset[PciAddress]
    kfd: Mapping[PciAddress, amd.KfdGpu]
    render: Mapping[PciAddress, int]
    accel: Mapping[PciAddress, int]


def tree_gpus(look: Look) -> Mapping[PciAddress, Gpu]:
    """Every GPU without a library: physical functions of the right vendor and class, and those that NVIDIA's driver
    lists (some captured trees have no vendor file)."""
    drivers = Drivers(
        nvidia=nvidia.driver_addresses(look),
        kfd=amd.kfd_gpus(look),
        render=drm.render_minors(look),
        accel=drm.accel_minors(look),
    )
    found = {address: gpu_function(look, address, drivers) for address in pci.addresses(look)}
    return {address: tree_gpu(look, function, drivers) for address, function in found.items() if function is not None}


def gpu_function(look: Look, address: PciAddress, drivers: Drivers) -> PciFunction | None:
    """The function at an address if it is a GPU, and none that another GPU lent out."""
    folder = f"{pci.DEVICES}/{address.sysfs}"
    listed = address in drivers.nvidia
    vendor = pci_class.NVIDIA if listed else look.file(f"{folder}/vendor", number.parse_hex)
    kind = look.file(f"{folder}/class", number.parse_hex)
    if vendor is None or kind is None or not pci_class.is_gpu(vendor, kind) or pci.is_virtual_function(look, address):
        return None
    return pci.read_function(look, address, vendor)


def tree_gpu(look: Look, function: PciFunction, drivers: Drivers) -> Gpu:
    address = function.address
    gpu = Gpu(
        uuid=address.bus_id,
        vendor=_VENDORS.get(function.vendor, "unknown"),
        function=function,
        minor=drivers.accel.get(address),
        render_minor=drivers.render.get(address),
        link_width=function.link_width,
        max_link_width=function.max_link_width,
    )
    if address in drivers.kfd:
        known = drivers.kfd[address]
        return replace(
            gpu,
            uuid=known.uuid or gpu.uuid,
            model=_product_name(look, address),
            render_minor=known.render_minor or gpu.render_minor,
            contexts=known.contexts,
        )
    if address in drivers.nvidia:
        information = nvidia.driver_information(look, address)
        gpu = replace(gpu, memory_node=nvidia.memory_node(look, address))
        if information is not None:
            gpu = replace(gpu, uuid=information.uuid or gpu.uuid, minor=information.minor, model=information.model)
    return gpu


def _product_name(look: Look, address: PciAddress) -> str | None:
    """amdgpu reads it from the board's FRU memory; empty on boards without."""
    path = f"{pci.DEVICES}/{address.sysfs}/product_name"
    return look.file(path, lambda data, _: data.decode("utf-8", "replace").strip() or None)


def driver_version(look: Look) -> str | None:
    """NVIDIA's kernel module, else AMD's (only one built outside the kernel has a version)."""
    return nvidia.driver_version(look) or look.file(
        "/sys/module/amdgpu/version", lambda data, _: data.decode("utf-8", "replace").strip() or None
    )
