"""The raw lines behind a finding, with the logical path of the file that they stand in."""

from collections.abc import Iterable, Iterator

from numa_exporter.findings import words
from numa_exporter.formats import idlist
from numa_exporter.model import amounts
from numa_exporter.model.ids import Backing
from numa_exporter.model.kubelet import Grant, Promises
from numa_exporter.model.placement import Machine, PlacedGpu, Rank, Workload
from numa_exporter.model.processes import Cgroup
from numa_exporter.model.report import Evidence


def pages(rank: Rank, backings: Iterable[Backing]) -> Iterator[Evidence]:
    """Bytes by backing and node of the rank's processes together, under the leader's file."""
    source = "numa_maps" if rank.method == "walk" else "maps"
    for backing in backings:
        amounts = (rank.mapped or {}).get(backing, {})
        if backing == "shmem":
            amounts = rank.private_shmem
        if any(amounts.values()):
            how = "bytes" if rank.method == "walk" else "bytes, sampled by move_pages"
            yield Evidence(path=f"/proc/{leader(rank)}/{source}", line=f"{backing} {words.by_node(amounts)} ({how})")


def policy(rank: Rank) -> Iterator[Evidence]:
    """The leader's policy word."""
    if rank.policy is not None:
        yield Evidence(path=f"/proc/{leader(rank)}/numa_maps", line=rank.policy)


def cpu_time(rank: Rank) -> Iterator[Evidence]:
    """CPU seconds by node in the window, and what moved between nodes meanwhile."""
    spent: dict[int, float] = {}
    for (node, _), seconds in rank.cpu_window.seconds.items():
        spent[node] = spent.get(node, 0.0) + seconds
    told = " ".join(f"N{node}={seconds:.1f}" for node, seconds in sorted(spent.items()))
    moved = rank.cpu_window.moved_seconds
    window = rank.cpu_window_seconds
    yield Evidence(
        path=f"/proc/{leader(rank)}/task/*/schedstat",
        line=f"{told} (CPU seconds in {window:.0f} s; {moved:.1f} of them on threads that changed node)",
    )


def masks(rank: Rank) -> Iterator[Evidence]:
    """The distinct affinity masks of its threads."""
    masks = {group.allowed for group in rank.thread_groups}
    for allowed in sorted(masks, key=sorted)[:4]:
        count = sum(group.threads for group in rank.thread_groups if group.allowed == allowed)
        line = f"Cpus_allowed_list: {idlist.render(allowed)} ({amounts.plural(count, 'thread')})"
        yield Evidence(path=f"/proc/{leader(rank)}/task/*/status", line=line)


def cpuset(workload: Workload) -> Iterator[Evidence]:
    """The container's effective CPUs."""
    cgroup = workload.cgroup
    if cgroup and cgroup.cpus is not None:
        yield Evidence(path=_cgroup_file(cgroup, "cpus"), line=idlist.render(cgroup.cpus))


def granted(grants: Iterable[Grant], promised: Promises) -> Iterator[Evidence]:
    """Exclusive CPUs and the pool of the others, as the kubelet's state has them, else PodResources."""
    read = promised.shared_cpus is not None
    path = f"{promised.root}/{'cpu_manager_state' if read else 'pod-resources/kubelet.sock'}"
    for grant in grants:
        yield Evidence(path=path, line=f'"{grant.pod_uid}":{{"{grant.container}":"{idlist.render(grant.cpus)}"}}')
    if promised.shared_cpus is not None:
        yield Evidence(path=path, line=f'"defaultCpuSet":"{idlist.render(promised.shared_cpus)}"')


def mems(workload: Workload) -> Iterator[Evidence]:
    """The container's effective memory nodes."""
    cgroup = workload.cgroup
    if cgroup and cgroup.mems is not None:
        yield Evidence(path=_cgroup_file(cgroup, "mems"), line=idlist.render(cgroup.mems))


def affinity(placed: PlacedGpu) -> Iterator[Evidence]:
    """What sysfs says of the GPU's node."""
    if placed.gpu.function:
        node = placed.gpu.function.numa_node
        path = f"/sys/bus/pci/devices/{placed.gpu.function.address.sysfs}/numa_node"
        yield Evidence(path=path, line="-1" if node is None else str(node))


def home(machine: Machine, rank: Rank) -> Iterator[Evidence]:
    """What sysfs says of the node of each of its GPUs."""
    for uuid in rank.gpus:
        placed = machine.gpu(uuid)
        if placed:
            yield from affinity(placed)


def leader(rank: Rank) -> int:
    """PID of the oldest process of a rank, which comes first."""
    return rank.processes[0].key.pid


def _cgroup_file(cgroup: Cgroup, what: str) -> str:
    name = f"cpuset.{what}.effective" if cgroup.version == 2 else f"cpuset.effective_{what}"
    return f"{cgroup.cpuset_directory or cgroup.path}/{name}"
