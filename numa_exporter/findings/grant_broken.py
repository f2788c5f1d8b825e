"""grant_broken: a container's cpuset is not the one that the kubelet granted.

Kubelets lost grants: a container went silently back to the shared pool (kubernetes 90303, 91668, 120230), or the same
CPUs were given twice after a restart (140989). Silent where somebody else writes cpusets: then the kubelet's state is
not what is meant to hold. Within one pod CPUs may repeat: an app container reuses those of an init container.
"""

from collections.abc import Iterator
from shlex import quote

from numa_exporter.findings import evidence
from numa_exporter.findings.rule import Rule
from numa_exporter.findings.scene import Scene
from numa_exporter.formats import idlist
from numa_exporter.model.ids import CpuSet
from numa_exporter.model.kubelet import Grant, Promises
from numa_exporter.model.placement import Workload
from numa_exporter.model.report import Finding, Subject


def find(scene: Scene) -> Iterator[Finding]:
    promised = scene.placement.promises
    if promised is None or promised.policies.cpu_manager != "static" or promised.cpuset_agent is not None:
        return
    for workload in scene.placement.workloads:
        allowed = workload.cgroup.cpus if workload.cgroup else None
        if workload.pod_uid is None or not allowed:
            continue
        own = _granted(scene, workload.grant)
        said = _changed(scene, allowed, own) if own else None
        others = [grant for grant in promised.grants if grant.pod_uid not in (None, workload.pod_uid)]
        taken = [grant for grant in others if allowed & _granted(scene, grant)]
        if taken and said is None:
            said = _doubled(scene, allowed, taken)
        if said is not None:
            grants = tuple(grant for grant in (workload.grant, *taken) if grant is not None)
            yield _finding(workload, said, len(allowed ^ own) if own else len(allowed), grants, promised)


def _granted(scene: Scene, grant: Grant | None) -> CpuSet:
    """What of it is online: a CPU that is not leaves the effective cpuset, not the state."""
    return grant.cpus & scene.machine.node_of_cpu.keys() if grant else frozenset()


def _changed(scene: Scene, allowed: CpuSet, own: CpuSet) -> str | None:
    if allowed == own:
        return None
    told = f"was granted CPUs {idlist.render(own)} for itself, and its cpuset has {idlist.render(allowed)}"
    promised = scene.placement.promises
    pool = (promised.shared_cpus or frozenset()) & scene.machine.node_of_cpu.keys() if promised else frozenset()
    return f"{told}: it is back in the shared pool" if pool and pool <= allowed else told


def _doubled(scene: Scene, allowed: CpuSet, taken: list[Grant]) -> str:
    shared = frozenset(cpu for grant in taken for cpu in allowed & _granted(scene, grant))
    owners = ", ".join(str(grant.key) for grant in taken[:3])
    return f"may use CPUs {idlist.render(shared)}, which are granted to {owners} alone"


def _finding(workload: Workload, said: str, count: int, grants: tuple[Grant, ...], promised: Promises) -> Finding:
    key = workload.key
    pod = f"-n {quote(key.namespace or '')} {quote(key.pod)}" if key.pod else f"POD  # of UID {workload.pod_uid}"
    return Finding(
        code="grant_broken",
        level="warning",
        subject=Subject(workload=key),
        sentence=f"{key} {said}.",
        value=float(count),
        limit=0.0,
        evidence=(*evidence.granted(grants, promised), *evidence.cpuset(workload)),
        remedy=f"kubectl delete pod {pod}",
        remedy_note="It is admitted and granted anew. Look for who took the grant: a kubelet that was restarted, "
        "another writer of cpusets, a runtime's update of the container.\nEffect unknown.",
    )


RULE = Rule(
    code="grant_broken",
    levels=("warning",),
    docs="A container's cpuset is not the one that the kubelet granted, or overlaps another pod's exclusive CPUs.",
    find=find,
    seconds=lambda limits: limits.grant_broken_seconds,
)
