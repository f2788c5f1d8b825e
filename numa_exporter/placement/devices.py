"""Devices beside a GPU: their sockets, their interrupts by locality, and the PCIe paths from each GPU."""

from collections.abc import Iterator, Sequence
from itertools import combinations

from numa_exporter.formats.pci_address import PciAddress
from numa_exporter.formats.pci_path import class_between, components
from numa_exporter.model.ids import Locality
from numa_exporter.model.machine import Device, PciFunction
from numa_exporter.model.placement import DevicePath, Machine, PlacedDevice, PlacedGpu, Tally
from numa_exporter.placement.locality import counted, localities
from numa_exporter.placement.nodes import in_one_place

PEERS = ("nic", "rdma", "nvme")
NETWORK = ("nic", "rdma")


def interrupts_by_node(devices: Sequence[Device], node_of_cpu: dict[int, int]) -> dict[tuple[PciAddress, int], float]:
    """Fired interrupts since boot by (PCI function, node of the CPU that served them).

    By function, for that is what fires: mlx5_0 and eth0 are one, and IPoIB has an ibp59s0 beside RDMA's ibp59s0.
    """
    fired: dict[tuple[PciAddress, int], float] = {}
    for address, by_cpu in {device.function.address: device.interrupts or {} for device in devices}.items():
        for cpu, count in by_cpu.items():
            node = node_of_cpu.get(cpu)
            if node is not None:
                fired[address, node] = fired.get((address, node), 0.0) + count
    return fired


def place_device(device: Device, machine: Machine, interrupts: Tally[tuple[PciAddress, int]] | None) -> PlacedDevice:
    """The device with its socket and its interrupts against its own node."""
    own = machine.node(device.function.numa_node) if device.function.numa_node is not None else None
    by_locality: dict[Locality, int] | None = None
    if own and in_one_place(own) and device.interrupts is not None and interrupts is not None:
        fired = {
            placed.id: int(interrupts.total.get((device.function.address, placed.id), 0)) for placed in machine.nodes
        }
        by_locality = counted(machine, localities(machine, frozenset(own.nearest)), fired)
    return PlacedDevice(device=device, socket=own.socket if own else None, interrupts=by_locality)


def paths(gpus: Sequence[PlacedGpu], devices: Sequence[Device]) -> Iterator[DevicePath]:
    """One path per unordered pair of a GPU and another GPU, NIC, RDMA device or NVMe controller.

    Not GPU and NIC where the GPU hangs on C2C (GH200, GB200): its PCI address says nothing about its transfers.
    """
    own = [(gpu, gpu.gpu.function, components(gpu.gpu.function.real_path)) for gpu in gpus if gpu.gpu.function]
    peers = [(device, components(device.function.real_path)) for device in devices if device.device_class in PEERS]
    for (gpu, function, tree), (other, other_function, other_tree) in combinations(own, 2):
        yield from _path(gpu, function, tree, (other.uuid, "gpu", other_function), other_tree)
    for gpu, function, tree in own:
        for device, device_tree in peers:
            if not (gpu.gpu.c2c and device.device_class in NETWORK):
                yield from _path(gpu, function, tree, (device.name, device.device_class, device.function), device_tree)


def _path(
    gpu: PlacedGpu,
    function: PciFunction,
    tree: tuple[str, ...],
    peer: tuple[str, str, PciFunction],
    peer_tree: tuple[str, ...],
) -> Iterator[DevicePath]:
    name, device_class, peer_function = peer
    found = class_between(tree, peer_tree, function.numa_node, peer_function.numa_node)
    if found is not None and found != "X":
        yield DevicePath(uuid=gpu.uuid, peer=name, peer_class=device_class, path=found)
