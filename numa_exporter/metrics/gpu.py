"""GPUs: what they are, which nodes are nearest, who holds them."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from numa_exporter.metrics.kubelet import granted
from numa_exporter.metrics.row import LabelValue, Row, Sample, View, W, workload_labels
from numa_exporter.model.ids import RankKey, WorkloadKey
from numa_exporter.model.placement import Holding, Machine, PlacedGpu

EVIDENCE_ORDER = ("nvml", "kfd", "drm", "fd", "kubelet", "vfio")
ROLE_ORDER = ("main", "stray", "observer")


def _gpus(view: View) -> tuple[PlacedGpu, ...]:
    machine = view.report.placement.machine
    return machine.gpus if machine else ()


def _info(view: View) -> Iterator[Sample]:
    machine = view.report.placement.machine
    for placed in _gpus(view):
        gpu = placed.gpu
        bus_id = gpu.address.bus_id if gpu.address else None
        driver = machine.driver_version if machine and gpu.vendor == "nvidia" else None
        iommu = gpu.function.iommu if gpu.function else None
        yield (gpu.uuid, gpu.index, bus_id, gpu.model, driver, iommu), 1


def _affinity(view: View) -> Iterator[Sample]:
    machine = view.report.placement.machine
    for placed in _gpus(view):
        for node in placed.affinity:
            yield (placed.uuid, node, _socket(machine, node), placed.source), 1


def _socket(machine: Machine | None, node: int) -> int | None:
    placed = machine.node(node) if machine else None
    return placed.socket if placed else None


def _affinity_known(view: View) -> Iterator[Sample]:
    for placed in _gpus(view):
        yield (placed.uuid,), 1 if placed.affinity else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Held:
    """One holding with the workload and rank that hold it."""

    workload: WorkloadKey
    rank: RankKey | None
    holding: Holding


def _held(view: View) -> Iterator[_Held]:
    """Every holding of a workload that has a name; the document lists the observers that have none."""
    for workload in view.report.placement.workloads:
        ranks = [*workload.ranks, *([workload.helpers] if workload.helpers else [])]
        for rank in ranks:
            for process in rank.processes:
                for holding in process.holdings:
                    key = rank.key if rank.key.uuid is not None else None
                    yield _Held(workload=workload.key, rank=key, holding=holding)
    for observer in view.report.placement.observers:
        if observer.workload is not None:
            for holding in observer.holdings:
                yield _Held(workload=observer.workload, rank=None, holding=holding)


def _workload_info(view: View) -> Iterator[Sample]:
    best: dict[tuple[WorkloadKey, str, str | None], _Held] = {}
    for held in _held(view):
        key = (held.workload, held.holding.uuid, held.holding.mig_uuid)
        known = best.get(key)
        if known is None or _order(held) < _order(known):
            best[key] = held
    for held in (*best.values(), *_granted(view, {(workload, uuid) for workload, uuid, _ in best})):
        labels: tuple[LabelValue, ...] = (
            held.holding.uuid,
            held.holding.mig_uuid,
            held.holding.gpu_instance_id,
            held.rank.uuid if held.rank else None,
            held.holding.role,
            held.holding.evidence,
        )
        yield labels + workload_labels(held.workload), 1


def _granted(view: View, held: Collection[tuple[WorkloadKey, str]]) -> Iterator[_Held]:
    """GPUs that the kubelet granted to a container whose processes are not seen on them."""
    for key, grant in granted(view):
        for (uuid, mig_uuid), gpu in {(gpu.uuid, gpu.mig_uuid): gpu for gpu in grant.gpus}.items():
            if (key, uuid) not in held:
                holding = Holding(
                    uuid=uuid,
                    role="main",
                    evidence="kubelet",
                    mig_uuid=mig_uuid,
                    gpu_instance_id=gpu.gpu_instance_id,
                )
                yield _Held(workload=key, rank=None, holding=holding)


def _order(held: _Held) -> tuple[int, int]:
    return EVIDENCE_ORDER.index(held.holding.evidence), ROLE_ORDER.index(held.holding.role)


def _holding_bytes(view: View) -> Iterator[Sample]:
    totals: dict[tuple[WorkloadKey, str], int] = {}
    for held in _held(view):
        if held.holding.used_bytes is not None:
            key = (held.workload, held.holding.uuid)
            totals[key] = totals.get(key, 0) + held.holding.used_bytes
    for (workload, uuid), total in totals.items():
        yield (uuid, *workload_labels(workload)), total


def _pcie_bytes(view: View) -> Iterator[Sample]:
    for placed in _gpus(view):
        if placed.gpu.pcie_rx_bytes is not None:
            yield (placed.uuid, "receive"), placed.gpu.pcie_rx_bytes
        if placed.gpu.pcie_tx_bytes is not None:
            yield (placed.uuid, "transmit"), placed.gpu.pcie_tx_bytes


def _link_width(view: View) -> Iterator[Sample]:
    for placed in _gpus(view):
        width = placed.gpu.link_width or (placed.gpu.function.link_width if placed.gpu.function else None)
        if width is not None:
            yield (placed.uuid,), width


def _max_link_width(view: View) -> Iterator[Sample]:
    for placed in _gpus(view):
        width = placed.gpu.max_link_width or (placed.gpu.function.max_link_width if placed.gpu.function else None)
        if width is not None:
            yield (placed.uuid,), width


ROWS = (
    Row(
        name="numa_gpu_info",
        kind="gauge",
        labels=("uuid", "gpu", "pci_bus_id", "model", "driver_version", "iommu"),
        help="A GPU; the ordinal gpu is information, never identity. NVML, /sys/bus/pci/devices.",
        samples=_info,
    ),
    Row(
        name="numa_gpu_affinity_info",
        kind="gauge",
        labels=("uuid", "numa_node", "socket", "source"),
        help="A CPU node nearest to the GPU, one series per node. sysfs numa_node, else NVML memory affinity, "
        "else the only node.",
        samples=_affinity,
    ),
    Row(
        name="numa_gpu_affinity_known",
        kind="gauge",
        labels=("uuid",),
        help="1 where the GPU's nearest node is known, 0 where firmware and driver do not tell.",
        samples=_affinity_known,
    ),
    Row(
        name="numa_gpu_workload_info",
        kind="gauge",
        labels=("uuid", "mig_uuid", "gpu_instance_id", "rank", "role", "evidence", *W),
        help="Who holds the GPU, best evidence first; role main, stray or observer; rank is the rank's uuid; evidence "
        "kubelet where it was granted and no process is seen. NVML, KFD, DRM, /proc/PID/fd, PodResources.",
        samples=_workload_info,
    ),
    Row(
        name="numa_gpu_holding_bytes",
        kind="gauge",
        labels=("uuid", *W),
        help="GPU memory used by the workload's contexts. NVML process lists, KFD.",
        samples=_holding_bytes,
    ),
    Row(
        name="numa_gpu_pcie_bytes_total",
        kind="counter",
        labels=("uuid", "direction"),
        help="PCIe traffic of the GPU: receive is host to device. NVML field values, absent where unsupported.",
        samples=_pcie_bytes,
    ),
    Row(
        name="numa_gpu_pcie_link_width",
        kind="gauge",
        labels=("uuid",),
        help="Current PCIe lanes. NVML, /sys/bus/pci/devices/*/current_link_width.",
        samples=_link_width,
    ),
    Row(
        name="numa_gpu_pcie_link_max_width",
        kind="gauge",
        labels=("uuid",),
        help="PCIe lanes that the GPU can use. NVML, /sys/bus/pci/devices/*/max_link_width.",
        samples=_max_link_width,
    ),
)
