"""The cgroups of workloads, and the names that a node keeps of its pods: /sys/fs/cgroup, /var/log/{pods,containers}."""

from collections.abc import Mapping

from numa_exporter.simhost import pages
from numa_exporter.simhost.answers import Answers
from numa_exporter.simhost.cast import Cast, Incarnation
from numa_exporter.simhost.layout import PAGE, Layout, id_list

CGROUPS = "/sys/fs/cgroup"
PODS = "/var/log/pods"
CONTAINERS = "/var/log/containers"


def answers(layout: Layout, cast: Cast, now: float) -> Answers:
    """Cgroup files and log names of the workloads that live."""
    found = Answers()
    alive = list(cast.alive(now))
    for one in alive:
        _cgroup(found, one, layout, now)
    pods = [one for one in alive if not one.workload.unit]
    found.listing(PODS, [_log_folder(one) for one in pods])
    found.listing(CONTAINERS, [_log_file(one) for one in pods])
    for one in pods:
        found.listing(f"{PODS}/{_log_folder(one)}", [one.workload.container])
        log = f"{PODS}/{_log_folder(one)}/{one.workload.container}/0.log"
        found.link(f"{CONTAINERS}/{_log_file(one)}", log)
    return found


def _log_folder(one: Incarnation) -> str:
    return f"{one.workload.namespace}_{one.pod}_{one.pod_uid}"


def _log_file(one: Incarnation) -> str:
    return f"{one.pod}_{one.workload.namespace}_{one.workload.container}-{one.container_id}.log"


def _cgroup(found: Answers, one: Incarnation, layout: Layout, now: float) -> None:
    folder = CGROUPS + one.cgroup
    found.listing(folder, ["cgroup.procs", "cpuset.cpus.effective", "cpuset.mems.effective", "memory.numa_stat"])
    found.file(f"{folder}/cpuset.cpus.effective", id_list(one.cpus))
    found.file(f"{folder}/cpuset.mems.effective", id_list(layout.nodes))
    found.file(f"{folder}/cgroup.procs", "\n".join(str(task.pid) for task in one.tasks))
    charged: dict[str, dict[int, int]] = {kind: dict.fromkeys(layout.nodes, 0) for kind in ("anon", "file", "shmem")}
    for task in one.tasks:
        for mapping in pages.mappings(task, now):
            # Driver pages are not accounted to any cgroup; shared memory is part of the kernel's "file".
            if mapping.name.startswith("/dev/nvidia"):
                continue
            shared = mapping.perms.endswith("s")
            file = mapping.name.startswith("/") and not shared
            for kind in ("file", "shmem") if shared else ("file",) if file else ("anon",):
                _add(charged[kind], mapping.by_node)
    rows = (" ".join((kind, *(f"N{node}={count}" for node, count in of.items()))) for kind, of in charged.items())
    found.file(f"{folder}/memory.numa_stat", "\n".join(rows))


def _add(total: dict[int, int], by_node: Mapping[int, int]) -> None:
    for node, count in by_node.items():
        total[node] += count * PAGE
