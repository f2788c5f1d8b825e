"""The ledger: workloads worst first, their ranks by PCI id, each with its lanes and the findings about it."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from numa_exporter.page.anchors import Anchors
from numa_exporter.page.columns import Columns, lay_out
from numa_exporter.page.document import Document, Finding, Rank, Workload
from numa_exporter.page.hardware import Gpu, short_uuid
from numa_exporter.page.lanes import DIMENSIONS, Lane, read_lanes
from numa_exporter.page.words import id_list

SHOW_ALL = 16
"""With more ranks than this, workloads without a verdict fold to one line each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One rank as drawn. `excused`: its verdict is suppressed on purpose."""

    rank: Rank
    gpus: tuple[Gpu | str, ...]
    """Its GPUs; the bare UUID of one that the machine does not list (any more)."""
    lanes: tuple[Lane, ...]
    excused: bool

    @property
    def gpu_names(self) -> str:
        """ "6", "0-3", "7B:00.0"."""
        ordinals = [gpu.index for gpu in self.gpus if isinstance(gpu, Gpu) and gpu.index is not None]
        if len(ordinals) == len(self.gpus):
            return id_list(ordinals)
        return ",".join(gpu.short_name if isinstance(gpu, Gpu) else short_uuid(gpu) for gpu in self.gpus)

    @property
    def name(self) -> str:
        return f"GPU {self.gpu_names}"

    @property
    def against(self) -> tuple[Lane, ...]:
        return tuple(lane for lane in self.lanes if lane.against)

    @property
    def doubted(self) -> str | None:
        """Why what is said of the rank is to be doubted; None where no verdict is given anyway."""
        return None if self.rank.unjudged else self.rank.low_confidence

    @property
    def doubt(self) -> str | None:
        """Why the rank is not fully judged; None for a judged one and for one that has a verdict anyway."""
        if self.against:
            return None
        return self.rank.unjudged or next((lane.not_judged for lane in self.lanes if lane.not_judged), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One workload as drawn. `anchor` is its id in the page."""

    workload: Workload
    name: str
    anchor: str
    rows: tuple[Row, ...]
    findings: tuple[Finding, ...]

    @property
    def against(self) -> tuple[Row, ...]:
        return tuple(row for row in self.rows if row.against)

    @property
    def warnings(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.live_warning)

    @property
    def has_remedy(self) -> bool:
        return any(finding.remedy for finding in self.findings if finding.suppressed is None)

    @property
    def order(self) -> tuple[float, bool, bool, bool, str]:
        """Worst first: highest judged ratio, other warnings, not fully judged, suppressed, then by name."""
        worst = max((lane.ratio or 0.0 for row in self.rows for lane in row.against), default=0.0)
        doubtful = any(row.doubt for row in self.rows)
        suppressed = any(finding.suppressed for finding in self.findings)
        return (-worst, not self.warnings, not doubtful, not suppressed, self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """All that the page draws. `about_machine`: findings that concern no workload shown."""

    document: Document
    columns: Columns
    entries: tuple[Entry, ...]
    about_machine: tuple[Finding, ...]

    @property
    def rows(self) -> tuple[Row, ...]:
        return tuple(row for entry in self.entries for row in entry.rows)

    @property
    def folds(self) -> bool:
        return self.columns.single or len(self.rows) > SHOW_ALL


def build(document: Document) -> Ledger:
    anchors = Anchors()
    names = Counter(_pod_name(workload) for workload in document.workloads)
    entries = tuple(_entry(document, workload, names, anchors) for workload in document.workloads)
    return Ledger(
        document=document,
        columns=lay_out(document.machine.nodes),
        entries=tuple(sorted(entries, key=lambda entry: entry.order)),
        about_machine=tuple(
            finding
            for finding in document.findings
            if not any(_concerns(finding, workload) for workload in document.workloads)
        ),
    )


def _entry(document: Document, workload: Workload, names: Counter[str], anchors: Anchors) -> Entry:
    findings = tuple(finding for finding in document.findings if _concerns(finding, workload))
    name = _pod_name(workload)
    if names[name] > 1 and workload.container:
        name = f"{name}/{workload.container}"
    identity = (workload.namespace, workload.pod, workload.container, workload.unit)
    return Entry(
        workload=workload,
        name=name,
        anchor=anchors.unique("w", *(part for part in identity if part)),
        rows=tuple(sorted((_row(document, rank, findings) for rank in workload.ranks), key=_by_pci)),
        findings=findings,
    )


def _row(document: Document, rank: Rank, findings: Iterable[Finding]) -> Row:
    known = {gpu.key: gpu for gpu in document.machine.gpus}
    mine = [f for f in findings if f.warning and f.subject.get("uuid") == rank.uuid]
    judged = frozenset(d.key for d in DIMENSIONS if d.key in rank.misaligned)
    excused = frozenset(d.key for d in DIMENSIONS if d.key in judged and _all_suppressed(mine, d.code))
    return Row(
        rank=rank,
        gpus=tuple(known.get(uuid, uuid) for uuid in rank.gpus),
        lanes=read_lanes(document, rank, judged - excused),
        excused=bool(judged) and judged == excused,
    )


def _all_suppressed(warnings: list[Finding], code: str) -> bool:
    """Whether every finding behind a verdict is suppressed: those of its own code, or else all of the rank's."""
    behind = [finding for finding in warnings if finding.code == code] or warnings
    return bool(behind) and all(finding.suppressed for finding in behind)


def _by_pci(row: Row) -> tuple[str, str]:
    pci = next((gpu.pci_bus_id for gpu in row.gpus if isinstance(gpu, Gpu)), None)
    return (pci or "", row.rank.uuid)


def _pod_name(workload: Workload) -> str:
    if workload.unit:
        return workload.unit
    return "/".join(part for part in (workload.namespace, workload.pod) if part) or "unnamed workload"


def _concerns(finding: Finding, workload: Workload) -> bool:
    """A finding may leave the container out; what it names must be the workload's."""
    names = {"namespace": workload.namespace, "pod": workload.pod, "unit": workload.unit}
    named = [key for key, value in names.items() if value is not None]
    container = finding.subject.get("container")
    return (
        bool(named)
        and all(finding.subject.get(key) == names[key] for key in named)
        and (container is None or container == workload.container)
    )
