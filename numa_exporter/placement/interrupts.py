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


def near_nics(machine: Machine) -> dict[str, tuple[str, ...]]:
    """The NICs at PIX or PXB of each GPU. eth0 and mlx5_0 of one PCI function are one."""
    functions = {placed.device.name: placed.device.function.address for placed in machine.devices}
    near: dict[str, dict[PciAddress, str]] = {}
    for path in machine.paths:
        if path.peer_class in NETWORK and path.path in _NEAR:
            near.setdefault(path.uuid, {})[functions[path.peer]] = path.peer
    return {uuid: tuple(names.values()) for uuid, names in near.items()}


def fired(
    near: Mapping[str, Iterable[str]], uuids: Iterable[str], home: Home, tally: Tally[tuple[str, int]] | None
) -> Fired | None:
    """None without a near NIC whose interrupts are known, or before the second reading."""
    if tally is None or not tally.seconds:
        return None
    names = frozenset(name for uuid in uuids for name in near.get(uuid, ()))
    served = {key: count for key, count in tally.step.items() if key[0] in names}
    if not served:
        return None
    remote = sum(count for (_, node), count in served.items() if home.on_cpu.get(node) == "remote")
    return Fired(remote=int(remote), total=int(sum(served.values())), seconds=tally.seconds)
