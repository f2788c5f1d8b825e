"""host_buffers_remote: the buffers that a GPU copies from and to are on another socket.

Shared anonymous memory is where CUDA's pinned buffers were seen (/dev/zero); what the driver maps counts where it
inserts struct pages.
"""

from collections.abc import Iterator

from numa_exporter.findings import evidence, remedy
from numa_exporter.findings.remote import HOST_BUFFERS, against_the_grain, remote_memory
from numa_exporter.findings.rule import Rule
from numa_exporter.findings.scene import Scene
from numa_exporter.model.report import Finding


def find(scene: Scene) -> Iterator[Finding]:
    return against_the_grain(
        scene,
        "host_buffers",
        code="host_buffers_remote",
        sentence=lambda workload, rank: remote_memory(scene, workload, rank, "host_buffers", "its host buffers"),
        evidence=lambda rank: (*evidence.pages(rank, HOST_BUFFERS), *evidence.policy(rank)),
        advice=remedy.bind,
    )


RULE = Rule(
    code="host_buffers_remote",
    levels=("warning",),
    docs="A rank's pinned host buffers are on another socket than its GPU.",
    find=find,
)
