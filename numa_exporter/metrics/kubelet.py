"""What the kubelet promised: policies, granted GPUs and CPUs, and what requests could still take."""

from collections.abc import Iterator

from numa_exporter.metrics.row import Row, Sample, View, W, workload_labels
from numa_exporter.model.ids import WorkloadKey
from numa_exporter.model.kubelet import Grant, Promises


def _promises(view: View) -> Iterator[Promises]:
    """One or none."""
    if view.report.placement.promises is not None:
        yield view.report.placement.promises


def _policy(view: View) -> Iterator[Sample]:
    for promised in _promises(view):
        own = promised.policies
        labels = (own.cpu_manager, own.memory_manager, own.topology_manager, own.topology_scope)
        if any(labels):
            yield labels, 1


def _granted(view: View) -> Iterator[Sample]:
    for promised in _promises(view):
        for uuid, taken in promised.granted.items():
            yield (uuid,), int(taken)


def _usable(view: View) -> Iterator[Sample]:
    for promised in _promises(view):
        yield from promised.usable.items()


def _stranded(view: View) -> Iterator[Sample]:
    for promised in _promises(view):
        for size, count in promised.stranded.items():
            yield (size,), count


def _granted_cpus(view: View) -> Iterator[Sample]:
    """Of containers that hold a GPU, or were granted one."""
    placement = view.report.placement
    node_of_cpu = placement.machine.node_of_cpu if placement.machine else {}
    for key, grant in granted(view):
        counts: dict[int, int] = {}
        for cpu in grant.cpus & node_of_cpu.keys():
            counts[node_of_cpu[cpu]] = counts.get(node_of_cpu[cpu], 0) + 1
        for node, count in sorted(counts.items()):
            yield (*workload_labels(key), node), count


def granted(view: View) -> Iterator[tuple[WorkloadKey, Grant]]:
    """Grants of the workloads that hold a GPU, then those of GPUs to containers of which no process is seen on any.

    Two pods can have one name (one that was deleted by force, and its successor): of two that would be one series the
    later goes by its UID.
    """
    held = [(work.key, work.grant) for work in view.report.placement.workloads if work.grant is not None]
    yield from held
    seen, taken = {grant for _, grant in held}, {key for key, _ in held}
    for promised in _promises(view):
        for grant in promised.grants:
            if grant.gpus and grant not in seen:
                own = WorkloadKey(container=grant.container, unit=f"pod/{grant.pod_uid}")
                key = own if grant.key in taken and grant.pod_uid else grant.key
                taken.add(key)
                yield key, grant


ROWS = (
    Row(
        name="numa_kubelet_policy_info",
        kind="gauge",
        labels=("cpu_manager", "memory_manager", "topology_manager", "topology_scope"),
        help="The kubelet's policies; what is unknown is left out. cpu_manager_state, memory_manager_state, its "
        "configuration file and command line.",
        samples=_policy,
    ),
    Row(
        name="numa_gpu_granted",
        kind="gauge",
        labels=("uuid",),
        help="1 where the kubelet granted the GPU, or a part of it, to a pod that lives; one series for each healthy, "
        "allocatable GPU. PodResources, kubelet_internal_checkpoint.",
        samples=_granted,
    ),
    Row(
        name="numa_gpus_usable",
        kind="gauge",
        labels=("size", "policy"),
        help="GPUs, not requests, that requests of this size could still take under the policy; whole GPUs, by the "
        "nodes that the device plugin reports. Sizes are alternatives: never sum them. PodResources.",
        samples=_usable,
    ),
    Row(
        name="numa_gpus_stranded",
        kind="gauge",
        labels=("size",),
        help="GPUs that only the kubelet's own policy keeps from requests of this size now: what could be taken "
        "without it, at most what the empty machine could align, less what can be taken. PodResources.",
        samples=_stranded,
    ),
    Row(
        name="numa_workload_granted_cpus",
        kind="gauge",
        labels=(*W, "numa_node"),
        help="Exclusive CPUs by the kubelet, of containers that hold a GPU or were granted one; none for the shared "
        "pool. cpu_manager_state, PodResources.",
        samples=_granted_cpus,
    ),
)
