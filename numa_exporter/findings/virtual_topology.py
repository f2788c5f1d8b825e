"""virtual_topology: a guest sees the NUMA nodes and PCIe paths that its hypervisor made up."""

from collections.abc import Iterator

from numa_exporter.findings.rule import Rule
from numa_exporter.findings.scene import Scene
from numa_exporter.model.report import Evidence, Finding, Subject


def find(scene: Scene) -> Iterator[Finding]:
    machine = scene.machine
    if not machine.virtual:
        return
    each = machine.sockets_unknown == "package_per_cpu"
    yield Finding(
        code="virtual_topology",
        level="info",
        subject=Subject(),
        sentence="This machine is a guest: its NUMA nodes and PCIe paths are what the hypervisor shows"
        + (", and every CPU claims a socket of its own, so that sockets are not known." if each else "."),
        evidence=(Evidence(path="/proc/cpuinfo", line="flags: hypervisor"),),
        remedy_note="On the hypervisor, pin vCPUs, give the guest the host's nodes, and the GPU the node of its slot.\n"
        "What is judged here holds only as far as the hypervisor tells the truth.",
    )


RULE = Rule(
    code="virtual_topology",
    levels=("info",),
    docs="The machine is a guest, whose topology is what its hypervisor shows.",
    find=find,
)
