"""cpuset_unconfined: most CPUs that a container may use are far from its GPUs, and its ranks do not bind themselves."""

from collections.abc import Iterator

from numa_exporter.findings import evidence, remedy, words
from numa_exporter.findings.rule import Rule
from numa_exporter.findings.scene import Scene
from numa_exporter.model.placement import Workload
from numa_exporter.model.report import Finding, Subject


def find(scene: Scene) -> Iterator[Finding]:
    for workload in scene.placement.workloads:
        allowed = workload.cpuset_by_locality
        if not allowed or not allowed["local"] or not allowed["remote"] or _ranks_are_bound(workload):
            continue
        total = sum(allowed.values())
        share = allowed["local"] / total
        if share >= scene.limits.cpuset_home:
            continue
        home = frozenset().union(*(rank.home for rank in workload.ranks))
        told = remedy.container(scene, workload, workload.ranks[0])
        yield Finding(
            code="cpuset_unconfined",
            level="info",
            subject=Subject(workload=workload.key),
            sentence=f"{workload.key} on {words.gpus(scene.machine, workload.gpus)} may use {total} CPUs, of which "
            f"only {allowed['local']} ({words.share(share)}) are at home on {words.nodes(home)}.",
            value=share,
            limit=scene.limits.cpuset_home,
            evidence=tuple(evidence.cpuset(workload)),
            remedy=told.remedy,
            remedy_note=told.note,
        )


def _ranks_are_bound(workload: Workload) -> bool:
    masks = [rank.allowed_cpus for rank in workload.ranks]
    return all(mask is not None and not mask.get("remote") for mask in masks)


RULE = Rule(
    code="cpuset_unconfined",
    levels=("info",),
    docs="Less than half of the CPUs that a container may use are at home, some are on another socket, and its ranks "
    "are not bound.",
    find=find,
    looks=True,
)
