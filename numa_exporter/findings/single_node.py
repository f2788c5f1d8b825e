"""single_node: one NUMA node with CPUs, or none: nothing can be out of place, or nothing can be told (NPS0)."""

from collections.abc import Iterator

from numa_exporter.findings.rule import Rule
from numa_exporter.findings.scene import Scene
from numa_exporter.formats import idlist
from numa_exporter.model.placement import Machine
from numa_exporter.model.report import Evidence, Finding, Subject


def find(scene: Scene) -> Iterator[Finding]:
    machine = scene.machine
    with_cpus = [placed.id for placed in machine.nodes if placed.kind == "cpu"]
    if len(with_cpus) > 1:
        return
    yield Finding(
        code="single_node",
        level="info",
        subject=Subject(),
        sentence=_sentence(machine),
        value=float(len(with_cpus)),
        limit=2.0,
        evidence=(_evidence(with_cpus),),
        remedy_note="In the firmware: NPS1, so that each socket is a node of its own." if _spans(machine) else None,
    )


def _evidence(with_cpus: list[int]) -> Evidence:
    if not with_cpus:
        return Evidence(path="/sys/devices/system/node", line="no node with CPUs")
    return Evidence(path="/sys/devices/system/node/has_cpu", line=idlist.render(with_cpus))


def _spans(machine: Machine) -> bool:
    return machine.sockets_unknown == "node_spans_packages"


def _sentence(machine: Machine) -> str:
    if _spans(machine):
        return "This machine shows several sockets as one NUMA node (NPS0): which one a GPU is near to is not known."
    if not machine.nodes:
        return "This machine shows no NUMA nodes: there is nothing to align."
    return "This machine has one NUMA node with CPUs: there is nothing to align."


RULE = Rule(
    code="single_node",
    levels=("info",),
    docs="There is only one NUMA node with CPUs, so there is nothing to align.",
    find=find,
)
