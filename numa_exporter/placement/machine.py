"""The machine of a Sample: nodes, sockets and their use, GPUs with affinity, devices, paths."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from numa_exporter.formats.pci_address import PciAddress
from numa_exporter.model.gpus import Gpus
from numa_exporter.model.machine import Topology
from numa_exporter.model.placement import Ledger, Machine, PlacedGpu, PlacedNode, Socket, Tally
from numa_exporter.model.sample import Sample
from numa_exporter.placement.affinity import place_gpu
from numa_exporter.placement.devices import interrupts_by_node, paths, place_device
from numa_exporter.placement.events import advance_events, held_balancing
from numa_exporter.placement.nodes import node_of_cpu, place_nodes
from numa_exporter.placement.tally import advance

_IDLE = ("idle", "iowait")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tallies:
    """The machine's counters after this sample, for the ledger."""

    cpus: Tally[tuple[int, str]]
    events: Tally[tuple[int | None, str]]
    interrupts: Tally[tuple[PciAddress, int]] | None


def place_machine(sample: Sample, topology: Topology, gpus: Gpus | None, ledger: Ledger) -> tuple[Machine, Tallies]:
    """The machine, and what the next sample's rates start from."""
    own_memory = frozenset(gpu.memory_node for gpu in (gpus.gpus if gpus else ()) if gpu.memory_node is not None)
    nodes, unknown = place_nodes(topology, own_memory)
    by_id = {placed.id: placed for placed in nodes}
    placed_gpus = tuple(place_gpu(gpu, by_id) for gpu in (gpus.gpus if gpus else ()))
    nodes = tuple(_beside_its_gpu(placed, placed_gpus) for placed in nodes)
    cpu_nodes = node_of_cpu(nodes)
    cpus = advance(ledger.cpus, _cpu_seconds(topology, cpu_nodes), topology.read_at)
    events = advance_events(ledger.events, topology)
    machine = Machine(
        nodes=nodes,
        sockets=_sockets(nodes, cpus),
        sockets_unknown=unknown,
        gpus=placed_gpus,
        traffic=sample.traffic.domains if sample.traffic else (),
        balancing=held_balancing(topology.balancing, events),
        cpu_seconds=_by_node(by_id, cpus),
        allocations={(node, event): int(count) for (node, event), count in events.total.items() if node in by_id},
        node_of_cpu=cpu_nodes,
        isolated_cpus=topology.isolated_cpus,
        virtual=topology.hypervisor,
        driver_version=gpus.driver_version if gpus else None,
        nvml=bool(gpus and gpus.nvml),
        gpus_known=gpus is not None,
    )
    return _with_devices(machine, sample, Tallies(cpus=cpus, events=events, interrupts=ledger.interrupts))


def _beside_its_gpu(placed: PlacedNode, gpus: Sequence[PlacedGpu]) -> PlacedNode:
    """A GPU's own memory is on the GPU's socket, whatever distances say (POWER9's are 80 to every CPU node)."""
    owner = next((gpu for gpu in gpus if gpu.gpu.memory_node == placed.id), None)
    if placed.kind != "gpu" or owner is None or len(owner.sockets) != 1:
        return placed
    return replace(placed, socket=min(owner.sockets))


def _with_devices(machine: Machine, sample: Sample, tallies: Tallies) -> tuple[Machine, Tallies]:
    if sample.devices is None:
        return machine, tallies
    devices = sample.devices.devices
    interrupts = tallies.interrupts
    if interrupts is None or interrupts.read_at != sample.devices.read_at:
        fired = interrupts_by_node(devices, dict(machine.node_of_cpu))
        interrupts = advance(interrupts, fired, sample.devices.read_at)
    placed = tuple(place_device(device, machine, interrupts) for device in devices)
    whole = replace(machine, devices=placed, paths=tuple(paths(machine.gpus, devices)))
    return whole, replace(tallies, interrupts=interrupts)


def _cpu_seconds(topology: Topology, cpu_nodes: dict[int, int]) -> dict[tuple[int, str], float]:
    """/proc/stat by (node, mode); a machine without NUMA nodes has none to fold into."""
    folded: dict[tuple[int, str], float] = {}
    for cpu, by_mode in topology.cpu_seconds.items():
        node = cpu_nodes.get(cpu)
        if node is not None:
            for mode, seconds in by_mode.items():
                folded[node, mode] = folded.get((node, mode), 0.0) + seconds
    return folded


def _by_node(
    nodes: dict[int, PlacedNode], cpus: Tally[tuple[int, str]]
) -> dict[tuple[int | None, int], dict[str, float]]:
    found: dict[tuple[int | None, int], dict[str, float]] = {}
    for (node, mode), seconds in cpus.total.items():
        if node in nodes:
            found.setdefault((nodes[node].socket, node), {})[mode] = seconds
    return found


def _sockets(nodes: Sequence[PlacedNode], cpus: Tally[tuple[int, str]]) -> tuple[Socket, ...]:
    members: dict[int, list[PlacedNode]] = {}
    for placed in nodes:
        if placed.kind == "cpu" and placed.socket is not None:
            members.setdefault(placed.socket, []).append(placed)
    return tuple(
        Socket(
            id=socket,
            nodes=tuple(placed.id for placed in own),
            cpus=frozenset().union(*(placed.online_cpus for placed in own)),
            utilization=_utilization(own, cpus),
        )
        for socket, own in sorted(members.items())
    )


def _utilization(own: Sequence[PlacedNode], cpus: Tally[tuple[int, str]]) -> float | None:
    """Share of the last interval in which the CPUs were not idle; None before the second reading."""
    ids = {placed.id for placed in own}
    spent = {key: seconds for key, seconds in cpus.step.items() if key[0] in ids}
    total = sum(spent.values())
    if total <= 0:
        return None
    return 1.0 - sum(seconds for (_, mode), seconds in spent.items() if mode in _IDLE) / total
