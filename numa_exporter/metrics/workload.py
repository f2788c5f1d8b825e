"""Workloads: identity, cpuset, charged memory, spread of the GPUs."""

from collections.abc import Iterator

from numa_exporter.metrics.row import Row, Sample, View, W, workload_labels
from numa_exporter.model.placement import Machine, Workload


def _workloads(view: View) -> tuple[Workload, ...]:
    return view.report.placement.workloads


def _info(view: View) -> Iterator[Sample]:
    for workload in _workloads(view):
        identity = (
            workload.pod_uid,
            workload.container_id,
            workload.runtime,
            workload.qos_class,
            workload.slurm_job_id,
            workload.slurm_step,
        )
        yield (*workload_labels(workload.key), *identity), 1


def _cpuset_cpus(view: View) -> Iterator[Sample]:
    for workload in _workloads(view):
        for locality, count in (workload.cpuset_by_locality or {}).items():
            yield (*workload_labels(workload.key), locality), count


def _cpuset_nodes(view: View) -> Iterator[Sample]:
    machine = view.report.placement.machine
    for workload in _workloads(view):
        if machine and workload.cgroup and workload.cgroup.cpus is not None:
            nodes = {machine.node_of_cpu[cpu] for cpu in workload.cgroup.cpus if cpu in machine.node_of_cpu}
            yield workload_labels(workload.key), len(nodes)


def _cpuset_mems(view: View) -> Iterator[Sample]:
    for workload in _workloads(view):
        if workload.cgroup and workload.cgroup.mems is not None:
            yield workload_labels(workload.key), len(workload.cgroup.mems)


def _charged(view: View) -> Iterator[Sample]:
    """The kernel writes a zero for every node with memory; only those of nodes with CPUs are worth a series."""
    machine = view.report.placement.machine
    with_cpus = {placed.id for placed in machine.nodes if placed.kind == "cpu"} if machine else set()
    for workload in _workloads(view):
        charged = workload.cgroup.charged if workload.cgroup else None
        for backing, by_node in (charged or {}).items():
            for node, count in by_node.items():
                if count or node in with_cpus:
                    yield (*workload_labels(workload.key), node, backing), count


def _gpu_nodes(view: View) -> Iterator[Sample]:
    for machine, workload in _with_machine(view):
        affinities = [machine_gpu.affinity for uuid in workload.gpus if (machine_gpu := machine.gpu(uuid))]
        if affinities and all(affinities):
            yield workload_labels(workload.key), len({node for nodes in affinities for node in nodes})


def _gpu_sockets(view: View) -> Iterator[Sample]:
    for machine, workload in _with_machine(view):
        sockets = [machine_gpu.sockets for uuid in workload.gpus if (machine_gpu := machine.gpu(uuid))]
        if sockets and all(sockets):
            yield workload_labels(workload.key), len({socket for some in sockets for socket in some})


def _with_machine(view: View) -> Iterator[tuple[Machine, Workload]]:
    machine = view.report.placement.machine
    if machine:
        for workload in _workloads(view):
            yield machine, workload


ROWS = (
    Row(
        name="numa_workload_info",
        kind="gauge",
        labels=(*W, "pod_uid", "container_id", "runtime", "qos_class", "slurm_job_id", "slurm_step"),
        help="A workload that holds a GPU: a container, or on a host a unit, Slurm step or other container. "
        "/proc/PID/cgroup.",
        samples=_info,
    ),
    Row(
        name="numa_workload_cpuset_cpus",
        kind="gauge",
        labels=(*W, "locality"),
        help="CPUs of the effective cpuset by locality to the workload's GPUs: possibility, not placement. "
        "cpuset.cpus.effective.",
        samples=_cpuset_cpus,
    ),
    Row(
        name="numa_workload_cpuset_numa_nodes",
        kind="gauge",
        labels=W,
        help="How many NUMA nodes the effective cpuset spans. cpuset.cpus.effective.",
        samples=_cpuset_nodes,
    ),
    Row(
        name="numa_workload_cpuset_mems",
        kind="gauge",
        labels=W,
        help="How many NUMA nodes may give memory. cpuset.mems.effective.",
        samples=_cpuset_mems,
    ),
    Row(
        name="numa_workload_charged_bytes",
        kind="gauge",
        labels=(*W, "numa_node", "backing"),
        help="Memory billed to the cgroup, each page once; never add it to mapped bytes. memory.numa_stat, "
        "hugetlb.*.numa_stat (v1 counts LRU lists).",
        samples=_charged,
    ),
    Row(
        name="numa_workload_gpu_numa_nodes",
        kind="gauge",
        labels=W,
        help="Over how many NUMA nodes the workload's GPUs spread; absent where an affinity is unknown.",
        samples=_gpu_nodes,
    ),
    Row(
        name="numa_workload_gpu_sockets",
        kind="gauge",
        labels=W,
        help="Over how many sockets the workload's GPUs spread; absent where unknown.",
        samples=_gpu_sockets,
    ),
)
