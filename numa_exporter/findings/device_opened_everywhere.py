"""device_opened_everywhere: all that is known of a process is that it has every GPU open.

CUDA opens each visible device when it starts, so that an open file means "may use". Without NVML nothing tells on
which of them it computes, and it has no home that could be judged.
"""

from collections.abc import Iterator

from numa_exporter.findings import words
from numa_exporter.findings.rule import Rule
from numa_exporter.findings.scene import Scene, about
from numa_exporter.model.report import Evidence, Finding


def find(scene: Scene) -> Iterator[Finding]:
    every = frozenset(gpu.uuid for gpu in scene.machine.gpus)
    if len(every) < 2:
        return
    for workload, rank in scene.ranks():
        process = next((one for one in rank.processes if one.evidence == "fd"), None)
        if process is None or not every <= {held.uuid for held in process.holdings}:
            continue
        yield Finding(
            code="device_opened_everywhere",
            level="info",
            subject=about(rank),
            sentence=f"{workload.key} ({process.comm}, pid {process.key.pid}) has every GPU open, "
            f"{words.gpus(scene.machine, rank.gpus)}, and nothing tells on which it computes.",
            value=float(len(every)),
            confidence="low",
            evidence=(Evidence(path=f"/proc/{process.key.pid}/fd", line=f"{len(every)} GPU devices open"),),
            remedy="# environment of the agent\nNVIDIA_VISIBLE_DEVICES=all\nNVIDIA_DRIVER_CAPABILITIES=utility",
            remedy_note="So it loads libnvidia-ml. Or show each process only its own GPU: CUDA_VISIBLE_DEVICES=UUID.",
        )


RULE = Rule(
    code="device_opened_everywhere",
    levels=("info",),
    docs="A process known by its open files alone has every GPU open, so that its home is not known.",
    find=find,
)
