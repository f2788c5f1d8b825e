"""irq_remote: the interrupts of the NICs beside a rank's GPUs are served on another socket."""

from collections.abc import Iterator

from numa_exporter.findings import words
from numa_exporter.findings.forms import target
from numa_exporter.findings.rule import Rule
from numa_exporter.findings.scene import Scene, about, trust
from numa_exporter.model.placement import DevicePath, Rank
from numa_exporter.model.report import Evidence, Finding

_CLASSES = ("nic", "rdma")
_NEAR = ("PIX", "PXB")


def find(scene: Scene) -> Iterator[Finding]:
    limits = scene.limits
    for workload, rank in scene.ranks():
        ratio = rank.misalignment.get("irq")
        if ratio is None or ratio < limits.irq_remote or not rank.interrupts or not rank.interrupts_window:
            continue
        remote, fired = rank.interrupts
        rate = fired / rank.interrupts_window
        if rate < limits.irq_rate:
            continue
        near = sorted(_near(scene, rank), key=lambda path: path.peer)
        names = ", ".join(path.peer for path in near)
        yield Finding(
            code="irq_remote",
            level="info",
            subject=about(rank),
            sentence=f"{words.rank(scene.machine, workload, rank)}: {words.share(ratio)} of the {rate:,.0f} interrupts "
            f"a second of {names} are served on another socket than its home, {words.nodes(rank.home)}.",
            value=ratio,
            limit=limits.irq_remote,
            window_seconds=rank.interrupts_window,
            confidence=trust(rank),
            evidence=(Evidence(path="/proc/interrupts", line=f"{names}: {remote} of {fired} fired on remote CPUs"),),
            remedy="\n".join(_moved(path, target(scene.machine, rank).cpu_list) for path in near),
            remedy_note="irqbalance undoes it: exclude these interrupts there. Managed ones cannot be moved (EIO).\n"
            "Effect unknown.",
        )


def _near(scene: Scene, rank: Rank) -> Iterator[DevicePath]:
    """One path per device, for the same NIC may be near to several GPUs."""
    seen: set[str] = set()
    for path in scene.machine.paths:
        near = path.uuid in rank.gpus and path.peer_class in _CLASSES and path.path in _NEAR
        if near and path.peer not in seen:
            seen.add(path.peer)
            yield path


def _moved(path: DevicePath, cpus: str) -> str:
    folder = f"/sys/class/{'infiniband' if path.peer_class == 'rdma' else 'net'}/{path.peer}/device/msi_irqs"
    return f"for n in $(ls {folder}); do echo {cpus} > /proc/irq/$n/smp_affinity_list; done"


RULE = Rule(
    code="irq_remote",
    levels=("info",),
    docs="Interrupts of the NICs beside a rank's GPUs are served on another socket.",
    find=find,
    looks=True,
)
