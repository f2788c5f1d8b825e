"""AMD GPUs through KFD, the kernel's own compute driver: /sys/class/kfd/kfd."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from numa_exporter.formats import kfd, number
from numa_exporter.formats.pci_address import PciAddress
from numa_exporter.model.gpus import GpuContext
from numa_exporter.sources.look import Look

KFD = "/sys/class/kfd/kfd"


@dataclass(frozen=True, slots=True, kw_only=True)
class KfdGpu:
    """The KFD nodes of one PCI function: several where an Instinct is partitioned. ``contexts`` None where KFD does
    not list processes."""

    uuid: str | None
    render_minor: int | None
    contexts: tuple[GpuContext, ...] | None


def kfd_gpus(look: Look) -> Mapping[PciAddress, KfdGpu]:
    """GPUs that KFD knows, by their address, with who has memory on them."""
    nodes: dict[PciAddress, list[tuple[int, kfd.KfdNode]]] = {}
    for name in look.names(f"{KFD}/topology/nodes"):
        folder = f"{KFD}/topology/nodes/{name}"
        node = look.file(f"{folder}/properties", kfd.parse)
        gpu_id = look.file(f"{folder}/gpu_id", number.parse)
        if node is not None and gpu_id is not None and node.is_gpu and node.address is not None:
            nodes.setdefault(node.address, []).append((gpu_id, node))
    used = vram(look)
    return {address: _gpu(members, used) for address, members in nodes.items()}


def vram(look: Look) -> Mapping[int, Mapping[int, int]] | None:
    """Bytes by GPU id and PID. A process that opened KFD has a file for every GPU, 0 where it holds nothing.

    The kernel lists a process until it has let go: a name without a file is one that just did.
    """
    held: dict[int, dict[int, int]] = {}
    if "proc" not in look.names(KFD):
        return None
    for pid in filter(str.isdecimal, look.names(f"{KFD}/proc")):
        for name in look.names(f"{KFD}/proc/{pid}"):
            prefix, _, gpu_id = name.partition("_")
            if prefix == "vram" and gpu_id.isdecimal():
                used = look.file(f"{KFD}/proc/{pid}/{name}", number.parse)
                if used:
                    held.setdefault(int(gpu_id), {})[int(pid)] = used
    return held


def _gpu(members: Sequence[tuple[int, kfd.KfdNode]], held: Mapping[int, Mapping[int, int]] | None) -> KfdGpu:
    first = members[0][1]
    return KfdGpu(
        uuid=first.uuid,
        render_minor=first.render_minor,
        contexts=None if held is None else _contexts([held.get(gpu_id, {}) for gpu_id, _ in members]),
    )


def _contexts(held: Sequence[Mapping[int, int]]) -> tuple[GpuContext, ...]:
    pids = sorted(frozenset().union(*held))
    return tuple(GpuContext(pid=pid, kind="compute", used_bytes=sum(part.get(pid, 0) for part in held)) for pid in pids)
