"""Names, amounts and lists as sentences and remedies say them."""

from collections.abc import Iterable, Mapping

from numa_exporter.formats import idlist
from numa_exporter.model.amounts import size as size
from numa_exporter.model.ids import CpuSet, NodeSet
from numa_exporter.model.placement import Machine, PlacedGpu, Rank, Workload


def gpus(machine: Machine, uuids: Iterable[str]) -> str:
    """GPU 3, GPUs 0-3; by UUID where an ordinal is not known."""
    placed = [(uuid, machine.gpu(uuid)) for uuid in uuids]
    indexes = [gpu.gpu.index if gpu else None for _, gpu in placed]
    known = [index for index in indexes if index is not None]
    text = idlist.render(known) if len(known) == len(placed) else ", ".join(uuid for uuid, _ in placed)
    return f"{'GPU' if len(placed) == 1 else 'GPUs'} {text}"


def gpu(placed: PlacedGpu) -> str:
    """GPU 3 (00000000:8D:00.0)."""
    name = "GPU" if placed.gpu.index is None else f"GPU {placed.gpu.index}"
    return f"{name} ({placed.gpu.function.address.bus_id if placed.gpu.function else placed.uuid})"


def rank(machine: Machine, workload: Workload, placed: Rank) -> str:
    """prod/llm-0/vllm on GPU 3."""
    return f"{workload.key} on {gpus(machine, placed.gpus)}"


def nodes(ids: Iterable[int]) -> str:
    """node 0, nodes 0-1."""
    distinct = frozenset(ids)
    return f"{'node' if len(distinct) == 1 else 'nodes'} {idlist.render(distinct)}"


def share(ratio: float) -> str:
    """0.273 is 27 %."""
    return f"{ratio * 100:.0f} %"


def span(seconds: float) -> str:
    """Seconds: 10 s, 5 min."""
    return f"{seconds / 60:.0f} min" if seconds >= 120 else f"{seconds:.0f} s"


def cpus_of(machine: Machine, home: Iterable[int]) -> CpuSet:
    """The online CPUs of these nodes."""
    wanted = frozenset(home)
    return frozenset(cpu for placed in machine.nodes if placed.id in wanted for cpu in placed.online_cpus)


def nodes_of(machine: Machine, cpus: CpuSet) -> NodeSet:
    """The nodes of these CPUs, as far as they are online."""
    return frozenset(machine.node_of_cpu[cpu] for cpu in cpus if cpu in machine.node_of_cpu)


def on_sockets_of(machine: Machine, home: NodeSet) -> NodeSet:
    """The nodes with CPUs on the sockets of these nodes; these nodes themselves where sockets are not known."""
    beside = frozenset(node for socket in machine.sockets if home & frozenset(socket.nodes) for node in socket.nodes)
    return beside or home


def by_node(amounts: Mapping[int, float]) -> str:
    """N0=3221225472 N1=1073741824, as the kernel writes amounts by node."""
    return " ".join(f"N{node}={amount:.0f}" for node, amount in sorted(amounts.items()))
