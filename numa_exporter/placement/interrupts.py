"""Interrupts of the NICs near a rank's GPUs, by the CPUs that served them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from numa_exporter.model.ids import Locality
from numa_exporter.model.placement import Machine, Tally
from numa_exporter.placement.devices import NETWORK

_NEAR = ("PIX", "PXB")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fired:
    """Interrupts of the last interval, which took ``seconds``."""

    remote: int
    total: int
    seconds: float


def fired(
    machine: Machine,
    uuids: Iterable[str],
    localities: Mapping[int, Locality | None],
    tally: Tally[tuple[str, int]] | None,
) -> Fired | None:
    """None without a near NIC or before the second reading. eth0 and mlx5_0 of one PCI function count once."""
    own = frozenset(uuids)
    near = {
        path.peer for path in machine.paths if path.uuid in own and path.peer_class in NETWORK and path.path in _NEAR
    }
    by_function = {
        placed.device.function.address: placed.device.name
        for placed in machine.devices
        if placed.device.name in near and placed.device.interrupts is not None
    }
    if tally is None or not tally.seconds or not by_function:
        return None
    names = frozenset(by_function.values())
    served = {key: count for key, count in tally.step.items() if key[0] in names}
    remote = sum(count for (_, node), count in served.items() if localities.get(node) == "remote")
    return Fired(remote=int(remote), total=int(sum(served.values())), seconds=tally.seconds)
