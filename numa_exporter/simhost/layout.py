"""The shape of a simulated machine: which CPUs a node has, and where each GPU and NIC hangs in the PCI tree."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from numa_exporter.simhost.names import Names
from numa_exporter.simhost.scenario import Machine

CLOCK_TICKS = 100
PAGE = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedGpu:
    """One GPU; ``folder`` is its place below /sys/devices. ``bus`` and those behind it belong to it alone."""

    index: int
    uuid: str
    node: int
    bus: int

    @property
    def switch(self) -> str:
        """The upstream port of the switch that it shares with its NIC."""
        return f"/sys/devices/pci0000:{self.bus:02x}/0000:{self.bus:02x}:01.0/0000:{self.bus + 1:02x}:00.0"

    @property
    def address(self) -> str:
        return f"0000:{self.bus + 3:02x}:00.0"

    @property
    def folder(self) -> str:
        return f"{self.switch}/0000:{self.bus + 2:02x}:00.0/{self.address}"

    @property
    def nic_address(self) -> str:
        return f"0000:{self.bus + 4:02x}:00.0"

    @property
    def nic_folder(self) -> str:
        return f"{self.switch}/0000:{self.bus + 2:02x}:01.0/{self.nic_address}"


class Layout:
    """A machine with names: CPUs are numbered as firmware does, first threads before second ones."""

    def __init__(self, machine: Machine, names: Names) -> None:
        self.machine = machine
        self.nodes = range(machine.nodes)
        self.cores = machine.nodes * machine.cores_per_node
        self.cpus = range(self.cores * machine.threads_per_core)
        self._cpus_of = {node: self._numbered(node) for node in self.nodes}
        self.gpus = tuple(
            SimulatedGpu(index=index, uuid=f"GPU-{names.uuid('gpu', index)}", node=node, bus=0x10 + 0x08 * index)
            for index, node in enumerate(machine.gpus)
        )

    def cpus_of(self, node: int) -> tuple[int, ...]:
        return self._cpus_of[node]

    def _numbered(self, node: int) -> tuple[int, ...]:
        width = self.machine.cores_per_node
        return tuple(
            cpu
            for thread in range(self.machine.threads_per_core)
            for cpu in range(thread * self.cores + node * width, thread * self.cores + (node + 1) * width)
        )

    def node_of(self, cpu: int) -> int:
        return cpu % self.cores // self.machine.cores_per_node

    def socket_of(self, node: int) -> int:
        return node // self.machine.nodes_per_socket

    def near(self, node: int) -> int:
        """The next node of the same socket; itself where there is none."""
        width = self.machine.nodes_per_socket
        return node - node % width + (node + 1) % width

    def far(self, node: int) -> int:
        """The node in the same place on the next socket."""
        return (node + self.machine.nodes_per_socket) % self.machine.nodes

    def distance(self, one: int, other: int) -> int:
        if one == other:
            return 10
        return 12 if self.socket_of(one) == self.socket_of(other) else 21 if self.machine.nodes_per_socket == 1 else 32


def id_list(ids: Collection[int]) -> str:
    """Kernel list text, such as 0-15,32-47."""
    runs: list[list[int]] = []
    for one in sorted(ids):
        if runs and runs[-1][1] == one - 1:
            runs[-1][1] = one
        else:
            runs.append([one, one])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def mask(cpus: Collection[int], width: Sequence[int]) -> str:
    """An affinity mask as recordings keep it: little-endian bytes in hexadecimal."""
    size = max(16, (len(width) // 64 + 1) * 8)
    return sum(1 << cpu for cpu in cpus).to_bytes(size, "little").hex()
