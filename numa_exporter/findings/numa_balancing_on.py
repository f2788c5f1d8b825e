"""numa_balancing_on: the kernel unmaps pages to see who touches them. It is on by default on several nodes."""

from collections.abc import Iterator

from numa_exporter.findings.rule import Rule
from numa_exporter.findings.scene import Scene
from numa_exporter.model.report import Evidence, Finding, Subject

NORMAL = 1  # bit of kernel.numa_balancing; 2 is memory tiering, which is another matter


def find(scene: Scene) -> Iterator[Finding]:
    machine = scene.machine
    mode = machine.balancing.mode
    with_cpus = sum(placed.kind == "cpu" for placed in machine.nodes)
    if mode is None or not mode & NORMAL or with_cpus < 2 or not machine.gpus:
        return
    yield Finding(
        code="numa_balancing_on",
        level="info",
        subject=Subject(),
        sentence="This machine balances NUMA memory by itself (kernel.numa_balancing): it takes hint faults in every "
        "process and moves pages, which a bound engine does not need.",
        value=float(mode),
        limit=0.0,
        evidence=(Evidence(path="/proc/sys/kernel/numa_balancing", line=str(mode)),),
        remedy=f"sysctl kernel.numa_balancing={mode & ~NORMAL}",
        remedy_note="Only once every rank is bound: it may be what keeps unbound ones near.\nEffect unknown.",
    )


RULE = Rule(
    code="numa_balancing_on",
    levels=("info",),
    docs="Automatic NUMA balancing is on on a machine with GPUs and several nodes.",
    find=find,
)
