"""memory_remote: private memory of a rank on another socket than its GPU."""

from collections.abc import Iterator

from numa_exporter.findings import evidence, remedy
from numa_exporter.findings.remote import PRIVATE, against_the_grain, remote_memory
from numa_exporter.findings.rule import Rule
from numa_exporter.findings.scene import Scene
from numa_exporter.model.report import Finding


def find(scene: Scene) -> Iterator[Finding]:
    return against_the_grain(
        scene,
        "memory",
        code="memory_remote",
        sentence=lambda workload, rank: remote_memory(scene, workload, rank, "memory", "its private memory"),
        evidence=lambda rank: (*evidence.pages(rank, PRIVATE), *evidence.policy(rank)),
        advice=remedy.bind,
    )


RULE = Rule(
    code="memory_remote",
    levels=("warning",),
    docs="A rank keeps much of its private memory on another socket than its GPU.",
    find=find,
)
