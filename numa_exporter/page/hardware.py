"""The machine as the report document describes it (its `machine` and `gpus`)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from numa_exporter.page import fields
from numa_exporter.page.fields import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A NUMA node. Sizes in bytes."""

    id: int
    socket: int | None
    kind: str
    cpus: str
    memory_bytes: float | None
    free_bytes: float | None
    reclaimable_bytes: float | None
    distances: Mapping[int, float]

    @classmethod
    def read(cls, node_id: int, record: Record) -> "Node":
        cpus = fields.text(record, "cpus") or ""
        return cls(
            id=node_id,
            socket=fields.integer(record, "socket"),
            kind=fields.text(record, "kind") or ("cpu" if cpus else "memory"),
            cpus=cpus,
            memory_bytes=fields.number(record, "memory_bytes"),
            free_bytes=fields.number(record, "memory_free_bytes"),
            reclaimable_bytes=fields.number(record, "memory_reclaimable_bytes"),
            distances=fields.by_node(record, "distances"),
        )

    @property
    def has_memory(self) -> bool:
        """Unknown counts as memory: only a known 0 is none."""
        return self.memory_bytes != 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """A GPU; `key` is its UUID, or its PCI address where no driver tells one."""

    key: str
    index: int | None
    pci_bus_id: str | None
    model: str | None
    affinity: tuple[int, ...]
    memory_node: int | None

    @classmethod
    def read(cls, record: Record) -> "Gpu":
        pci = fields.text(record, "pci_bus_id")
        return cls(
            key=fields.text(record, "uuid") or pci or "GPU-unknown",
            index=fields.integer(record, "index"),
            pci_bus_id=pci,
            model=fields.text(record, "model"),
            affinity=fields.integers(record, "affinity"),
            memory_node=fields.integer(record, "memory_node"),
        )

    @property
    def short_name(self) -> str:
        """The ordinal; where there is none, the last part of the PCI id (7B:00.0 of 00000000:7B:00.0)."""
        if self.index is not None:
            return str(self.index)
        return self.pci_bus_id.split(":", 1)[-1] if self.pci_bus_id else short_uuid(self.key)


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """A NIC, RDMA device or drive."""

    name: str
    kind: str | None
    node: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Nodes by id, GPUs in the document's order, devices, and which NIC shares a PCIe switch with which GPU.

    Without `gpus_known` an empty `gpus` is unknown, not none. `sockets_unknown`: why sockets cannot be told.
    """

    nodes: Mapping[int, Node]
    utilization: Mapping[int, float]
    gpus: tuple[Gpu, ...]
    devices: tuple[Device, ...]
    nics: Mapping[str, str]
    gpus_known: bool
    sockets_unknown: str | None

    @classmethod
    def read(cls, document: Record) -> "Machine":
        machine = fields.record(document, "machine")
        nodes = ((fields.integer(node, "id"), node) for node in fields.records(machine, "nodes"))
        busy = (
            (fields.integer(socket, "id"), fields.number(socket, "cpu_utilization_ratio"))
            for socket in fields.records(machine, "sockets")
        )
        gpus = tuple(Gpu.read(gpu) for gpu in fields.records(document, "gpus"))
        devices = tuple(_devices(machine))
        return cls(
            nodes={key: Node.read(key, node) for key, node in nodes if key is not None},
            utilization={key: ratio for key, ratio in busy if key is not None and ratio is not None},
            gpus=gpus,
            devices=devices,
            nics=_nics(machine, gpus, devices),
            gpus_known=isinstance(document.get("gpus"), Sequence),
            sockets_unknown=fields.text(machine, "sockets_unknown"),
        )

    @property
    def sockets(self) -> frozenset[int]:
        """Those that have a node; empty where the machine does not say."""
        return frozenset(node.socket for node in self.nodes.values() if node.socket is not None)


def short_uuid(uuid: str) -> str:
    """The first block of a UUID that no GPU of this report has."""
    return uuid.removeprefix("GPU-").split("-", 1)[0]


def _devices(machine: Record) -> list[Device]:
    return [
        Device(name=name, kind=fields.text(device, "class"), node=fields.integer(device, "numa_node"))
        for device in fields.records(machine, "devices")
        if (name := fields.text(device, "name")) is not None
    ]


def _nics(machine: Record, gpus: tuple[Gpu, ...], devices: tuple[Device, ...]) -> dict[str, str]:
    """GPU → its nearest NIC behind the same switch. A pair names its two ends in either order."""
    rank = {"PIX": 0, "PXB": 1}
    kinds = {device.name: device.kind for device in devices if device.kind != "nvme"}
    keys = {gpu.key for gpu in gpus}
    best: dict[str, tuple[int, bool, str]] = {}
    for pair in fields.records(machine, "paths"):
        a, b, path = fields.text(pair, "a"), fields.text(pair, "b"), fields.text(pair, "path")
        for gpu, nic in ((a, b), (b, a)):
            if gpu in keys and nic in kinds and path in rank and gpu is not None and nic is not None:
                offer = (rank[path], kinds[nic] != "rdma", nic)
                best[gpu] = min(best.get(gpu, offer), offer)
    return {gpu: nic for gpu, (_, _, nic) in best.items()}
