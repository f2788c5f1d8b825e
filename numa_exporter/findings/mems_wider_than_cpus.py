"""mems_wider_than_cpus: a container's CPUs are confined to a socket, its memory is not.

The usual work of a kubelet with a static CPU manager and no memory manager: local until the node is full.
"""

from collections.abc import Iterator

from numa_exporter.findings import evidence, remedy, words
from numa_exporter.findings.forms import Target
from numa_exporter.findings.policies import BINDING, policy_of
from numa_exporter.findings.rule import Rule
from numa_exporter.findings.scene import Scene
from numa_exporter.model.placement import Workload
from numa_exporter.model.report import Finding, Subject


def find(scene: Scene) -> Iterator[Finding]:
    machine = scene.machine
    for workload in scene.placement.workloads:
        cgroup = workload.cgroup
        if cgroup is None or not cgroup.cpus or cgroup.mems is None or not workload.ranks or _bound(workload):
            continue
        ordinary = {placed.id for placed in machine.nodes if placed.kind == "cpu" and placed.has_memory}
        near = words.on_sockets_of(machine, words.nodes_of(machine, cgroup.cpus))
        beyond = (cgroup.mems & ordinary) - near
        if not beyond or not cgroup.mems & near:  # memory all elsewhere is not wider
            continue
        told = remedy.limits(scene, workload, Target(cpus=cgroup.cpus, mems=cgroup.mems - beyond))
        yield Finding(
            code="mems_wider_than_cpus",
            level="info",
            subject=Subject(workload=workload.key),
            sentence=f"{workload.key} on {words.gpus(machine, workload.gpus)} has all its CPUs on {words.nodes(near)} "
            f"but may take memory from {words.nodes(beyond)} too.",
            value=float(len(cgroup.mems)),
            limit=float(len(cgroup.mems - beyond)),
            evidence=(*evidence.cpuset(workload), *evidence.mems(workload)),
            remedy=told.remedy,
            remedy_note=told.note,
        )


def _bound(workload: Workload) -> bool:
    """Whether each rank narrows its memory by itself."""
    policies = [policy_of(rank.policy) for rank in workload.ranks]
    return all(policy is not None and policy.mode in BINDING for policy in policies)


RULE = Rule(
    code="mems_wider_than_cpus",
    levels=("info",),
    docs="A container's CPUs are confined to a socket, but its memory may come from another.",
    find=find,
    looks=True,
)
