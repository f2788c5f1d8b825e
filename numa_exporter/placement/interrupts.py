"""Interrupts of the NICs near a rank's GPUs, by the CPUs that served them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from numa_exporter.formats.pci_address import PciAddress
from numa_exporter.model.placement import Machine, Tally
from numa_exporter.placement.devices import NETWORK
from numa_exporter.placement.locality import Home

_NEAR = ("PIX", "PXB")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fired:
    """Interrupts of the last interval, which took ``seconds``."""

    remote: int
    total: int
    seconds: float


def near_nics(machine: Machine) -> dict[str, frozenset[PciAddress]]:
    """The PCI functions of the NICs at PIX or PXB of each GPU. eth0 and mlx5_0 of one function are one."""
    functions = {(one.device.device_class, one.device.name): one.device.function.address for one in machine.devices}
    near: dict[str, set[PciAddress]] = {}
    for path in machine.paths:
        if path.peer_class in NETWORK and path.path in _NEAR:
            near.setdefault(path.uuid, set()).add(functions[path.peer_class, path.peer])
    return {uuid: frozenset(found) for uuid, found in near.items()}


def fired(
    near: Mapping[str, Iterable[PciAddress]],
    uuids: Iterable[str],
    home: Home,
    tally: Tally[tuple[PciAddress, int]] | None,
) -> Fired | None:
    """None without a near NIC whose interrupts are known, or before the second reading."""
    if tally is None or not tally.seconds:
        return None
    functions = frozenset(address for uuid in uuids for address in near.get(uuid, ()))
    served = {key: count for key, count in tally.step.items() if key[0] in functions}
    if not served:
        return None
    remote = sum(count for (_, node), count in served.items() if home.on_cpu.get(node) == "remote")
    return Fired(remote=int(remote), total=int(sum(served.values())), seconds=tally.seconds)
