"""The machine: nodes, CPU time, traffic, automatic balancing, devices and PCIe paths."""

from collections.abc import Callable, Iterator

from numa_exporter.metrics.row import Row, Sample, View
from numa_exporter.model.machine import Balancing, NodeMemory
from numa_exporter.model.placement import Machine, PlacedNode

NODE = "/sys/devices/system/node/nodeN"


def _nodes(view: View) -> tuple[PlacedNode, ...]:
    machine = view.report.placement.machine
    return machine.nodes if machine else ()


def _machine(view: View) -> Iterator[Machine]:
    if view.report.placement.machine:
        yield view.report.placement.machine


def _node_info(view: View) -> Iterator[Sample]:
    for placed in _nodes(view):
        yield (placed.id, placed.socket, placed.kind), 1


def _worth(placed: PlacedNode, value: int | None) -> bool:
    """A zero is worth a series on nodes with CPUs alone: a GB200 has 34 others, 28 of them empty for ever."""
    return value is not None and (value != 0 or placed.kind == "cpu")


def _node_cpus(view: View) -> Iterator[Sample]:
    for placed in _nodes(view):
        if _worth(placed, len(placed.online_cpus)):
            yield (placed.id,), len(placed.online_cpus)


def _memory(field: Callable[[NodeMemory], int | None]) -> Callable[[View], Iterator[Sample]]:
    def samples(view: View) -> Iterator[Sample]:
        for placed in _nodes(view):
            value = field(placed.node.memory) if placed.node.memory else None
            if value is not None and _worth(placed, value):
                yield (placed.id,), value

    return samples


def _hugepages(field: str) -> Callable[[View], Iterator[Sample]]:
    def samples(view: View) -> Iterator[Sample]:
        for placed in _nodes(view):
            for pool in placed.node.hugepages:
                if _worth(placed, pool.total_bytes):
                    yield (placed.id, pool.page_bytes), getattr(pool, field)

    return samples


def _distance(view: View) -> Iterator[Sample]:
    with_memory = {placed.id for placed in _nodes(view) if placed.has_memory}
    for placed in _nodes(view):
        if placed.kind == "cpu":
            for other, distance in placed.node.distances.items():
                if other in with_memory:
                    yield (placed.id, other), distance


def _allocations(view: View) -> Iterator[Sample]:
    for machine in _machine(view):
        for placed in machine.nodes:
            for event in placed.node.numastat:
                count = machine.allocations.get((placed.id, event))
                if count is not None and _worth(placed, count):
                    yield (placed.id, event), count


def _cpu_seconds(view: View) -> Iterator[Sample]:
    for machine in _machine(view):
        for (socket, node), modes in machine.cpu_seconds.items():
            for mode, seconds in modes.items():
                yield (socket, node, mode), seconds


def _utilization(view: View) -> Iterator[Sample]:
    for machine in _machine(view):
        for socket in machine.sockets:
            if socket.utilization is not None:
                yield (socket.id,), socket.utilization


def _traffic(field: str) -> Callable[[View], Iterator[Sample]]:
    def samples(view: View) -> Iterator[Sample]:
        for machine in _machine(view):
            for domain in machine.traffic:
                value = getattr(domain, field)
                if value is not None:
                    sockets = {_socket_of(machine, cpu) for cpu in domain.cpus}
                    yield (domain.domain, sockets.pop() if len(sockets) == 1 else None), value

    return samples


def _socket_of(machine: Machine, cpu: int) -> int | None:
    return next((socket.id for socket in machine.sockets if cpu in socket.cpus), None)


def _balancing(field: Callable[[Balancing], int | None]) -> Callable[[View], Iterator[Sample]]:
    def samples(view: View) -> Iterator[Sample]:
        for machine in _machine(view):
            value = field(machine.balancing)
            if value is not None:
                yield (), value

    return samples


def _hint_faults(view: View) -> Iterator[Sample]:
    for machine in _machine(view):
        total, local = machine.balancing.hint_faults, machine.balancing.hint_faults_local
        if total is not None and local is not None:
            yield ("local",), local
            yield ("remote",), total - local


def _device_info(view: View) -> Iterator[Sample]:
    for machine in _machine(view):
        for placed in machine.devices:
            device = placed.device
            if device.device_class != "gpu":
                function = device.function
                labels = (device.name, device.device_class, function.address.bus_id, function.numa_node, placed.socket)
                yield labels, 1


def _interrupts(view: View) -> Iterator[Sample]:
    for machine in _machine(view):
        for placed in machine.devices:
            for locality, count in (placed.interrupts or {}).items():
                yield (placed.device.name, placed.device.device_class, locality), count


def _paths(view: View) -> Iterator[Sample]:
    for machine in _machine(view):
        for path in machine.paths:
            yield (path.uuid, path.peer, path.peer_class, path.path), 1


ROWS = (
    Row(
        name="numa_node_info",
        kind="gauge",
        labels=("numa_node", "socket", "kind"),
        help=f"A NUMA node, its socket (absent where sockets are unknown) and kind: cpu, memory or gpu. {NODE}.",
        samples=_node_info,
    ),
    Row(
        name="numa_node_cpus",
        kind="gauge",
        labels=("numa_node",),
        help=f"Online CPUs of the node. {NODE}/cpulist, cpu/online.",
        samples=_node_cpus,
    ),
    Row(
        name="numa_node_memory_bytes",
        kind="gauge",
        labels=("numa_node",),
        help=f"Memory of the node. {NODE}/meminfo MemTotal.",
        samples=_memory(lambda memory: memory.total_bytes),
    ),
    Row(
        name="numa_node_memory_free_bytes",
        kind="gauge",
        labels=("numa_node",),
        help=f"Free memory of the node; always low beside a page cache. {NODE}/meminfo MemFree.",
        samples=_memory(lambda memory: memory.free_bytes),
    ),
    Row(
        name="numa_node_memory_reclaimable_bytes",
        kind="gauge",
        labels=("numa_node",),
        help=f"File LRU lists and reclaimable slab of the node. {NODE}/meminfo.",
        samples=_memory(lambda memory: memory.reclaimable_bytes),
    ),
    Row(
        name="numa_node_hugepages_bytes",
        kind="gauge",
        labels=("numa_node", "page_size"),
        help=f"Huge page pool of the node; page_size in bytes. {NODE}/hugepages.",
        samples=_hugepages("total_bytes"),
    ),
    Row(
        name="numa_node_hugepages_free_bytes",
        kind="gauge",
        labels=("numa_node", "page_size"),
        help=f"Free part of the huge page pool; page_size in bytes. {NODE}/hugepages.",
        samples=_hugepages("free_bytes"),
    ),
    Row(
        name="numa_node_distance",
        kind="gauge",
        labels=("numa_node", "to_numa_node"),
        help=f"Firmware distance from a node with CPUs to a node with memory; ranks, not ratios. {NODE}/distance.",
        samples=_distance,
    ),
    Row(
        name="numa_node_allocations_total",
        kind="counter",
        labels=("numa_node", "event"),
        help=f"Allocation events, not accesses and not bytes: a huge page counts once. {NODE}/numastat.",
        samples=_allocations,
    ),
    Row(
        name="numa_cpu_seconds_total",
        kind="counter",
        labels=("socket", "numa_node", "mode"),
        help="CPU time by socket and node; guest time is inside user and nice. /proc/stat.",
        samples=_cpu_seconds,
    ),
    Row(
        name="numa_socket_cpu_utilization_ratio",
        kind="gauge",
        labels=("socket",),
        help="Busy share of the socket's CPUs over the last interval. /proc/stat.",
        samples=_utilization,
    ),
    Row(
        name="numa_memory_traffic_bytes_total",
        kind="counter",
        labels=("domain", "socket"),
        help="Memory bandwidth of CPUs (GPU transfers never appear) by L3 domain. resctrl mbm_total_bytes.",
        samples=_traffic("total_bytes"),
    ),
    Row(
        name="numa_memory_local_traffic_bytes_total",
        kind="counter",
        labels=("domain", "socket"),
        help="The local part of it; on AMD the total holds dirty victims that local does not. resctrl mbm_local_bytes.",
        samples=_traffic("local_bytes"),
    ),
    Row(
        name="numa_balancing_mode",
        kind="gauge",
        labels=(),
        help="Bit mask: 1 automatic balancing, 2 memory tiering. /proc/sys/kernel/numa_balancing.",
        samples=_balancing(lambda balancing: balancing.mode),
    ),
    Row(
        name="numa_zone_reclaim_mode",
        kind="gauge",
        labels=(),
        help="Bit mask; not 0: reclaim before going to another node. /proc/sys/vm/zone_reclaim_mode.",
        samples=_balancing(lambda balancing: balancing.zone_reclaim_mode),
    ),
    Row(
        name="numa_balancing_hint_faults_total",
        kind="counter",
        labels=("scope",),
        help="Hint faults of automatic balancing by locality, machine-wide. /proc/vmstat numa_hint_faults(_local).",
        samples=_hint_faults,
    ),
    Row(
        name="numa_balancing_pages_migrated_total",
        kind="counter",
        labels=(),
        help="Pages that automatic balancing moved, in base pages. /proc/vmstat numa_pages_migrated.",
        samples=_balancing(lambda balancing: balancing.pages_migrated),
    ),
    Row(
        name="numa_device_info",
        kind="gauge",
        labels=("device", "class", "pci_bus_id", "numa_node", "socket"),
        help="A physical NIC, RDMA device or NVMe controller and its node (absent for -1). /sys/bus/pci/devices.",
        samples=_device_info,
    ),
    Row(
        name="numa_device_interrupts_total",
        kind="counter",
        labels=("device", "class", "locality"),
        help="Fired interrupts by the CPU that served them, against the device's own node. /proc/interrupts.",
        samples=_interrupts,
    ),
    Row(
        name="numa_path_info",
        kind="gauge",
        labels=("uuid", "peer", "peer_class", "path"),
        help="PCIe path class (PIX PXB PHB NODE SYS) of a GPU and a peer, one per pair. /sys/devices.",
        samples=_paths,
    ),
)
