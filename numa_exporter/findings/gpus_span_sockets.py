"""gpus_span_sockets: a workload's GPUs are on more sockets than they need to be. Eight of eight are not."""

from collections import Counter
from collections.abc import Iterator

from numa_exporter.findings import evidence, words
from numa_exporter.findings.forms import in_pod
from numa_exporter.findings.kubernetes_forms import kubernetes_forms
from numa_exporter.findings.rule import Rule
from numa_exporter.findings.scene import Scene
from numa_exporter.model.placement import Machine, PlacedGpu
from numa_exporter.model.report import Finding, Subject


def find(scene: Scene) -> Iterator[Finding]:
    machine = scene.machine
    whole = _by_socket(machine, [gpu.uuid for gpu in machine.gpus])
    for workload in scene.placement.workloads:
        own = _by_socket(machine, workload.gpus)
        if own is None or whole is None or not own:
            continue
        possible = min(len(workload.gpus), max(whole.values()))
        spread = 1 - max(own.values()) / possible
        if spread <= 0:
            continue
        told = "; ".join(
            f"socket {socket}: {words.gpus(machine, [gpu.uuid for gpu in machine.gpus if socket in gpu.sockets])}"
            for socket in sorted(whole)
        )
        yield Finding(
            code="gpus_span_sockets",
            level="info",
            subject=Subject(workload=workload.key),
            sentence=f"{workload.key} holds {words.gpus(machine, workload.gpus)} on {len(own)} sockets; "
            f"one socket could hold {possible} of them.",
            value=spread,
            limit=0.0,
            evidence=tuple(line for gpu in _placed(machine, workload.gpus) for line in evidence.affinity(gpu)),
            remedy="\n\n".join(kubernetes_forms(machine, scene.placement.promises, workload)) or None
            if in_pod(workload)
            else None,
            remedy_note=f"Give it GPUs of one socket ({told}).\nEffect unknown.",
        )


def _placed(machine: Machine, uuids: tuple[str, ...]) -> list[PlacedGpu]:
    return [gpu for uuid in uuids if (gpu := machine.gpu(uuid))]


def _by_socket(machine: Machine, uuids: tuple[str, ...] | list[str]) -> Counter[int] | None:
    """How many of these GPUs each socket has; None where one has no single known socket."""
    sockets = [gpu.sockets if (gpu := machine.gpu(uuid)) else frozenset[int]() for uuid in uuids]
    if any(len(own) != 1 for own in sockets):
        return None
    return Counter(socket for own in sockets for socket in own)


RULE = Rule(
    code="gpus_span_sockets",
    levels=("info",),
    docs="A workload's GPUs are on several sockets although one could hold more of them.",
    find=find,
    looks=True,
)
