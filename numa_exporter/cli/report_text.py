"""The report as a person reads it: the machine, the GPUs, who runs where; then what is wrong and what to type."""

import os
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TextIO

from numa_exporter.formats import idlist
from numa_exporter.model.amounts import size
from numa_exporter.model.document import timestamp
from numa_exporter.model.ids import JUDGED, Dimension, WorkloadKey
from numa_exporter.model.placement import Machine, Rank, Workload
from numa_exporter.model.report import Finding, Report

WIDTH = 100
WIDEST = 65
NOTHING = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """Terminal escapes, or nothing where the output is no terminal or NO_COLOR is set."""

    strong: str = ""
    warning: str = ""
    faint: str = ""
    end: str = ""

    @classmethod
    def of(cls, stream: TextIO) -> "Style":
        if not stream.isatty() or os.environ.get("NO_COLOR"):
            return cls()
        return cls(strong="\033[1m", warning="\033[1;33m", faint="\033[2m", end="\033[0m")


def render(report: Report, style: Style) -> str:
    """The whole text, without a final newline."""
    blocks = [
        _head(report, style),
        _machine(report, style),
        _gpus(report, style),
        _ranks(report, style),
        _findings(report, style),
        _sources(report, style),
    ]
    return harmless("\n\n".join("\n".join(block) for block in (list(block) for block in blocks) if block), style)


def harmless(text: str, style: Style) -> str:
    """The text with every control character but newlines and the style's own escapes spelled out, and every byte that
    is no UTF-8: whoever names a cgroup or a process must not get to write to the terminal of the one who looks, nor to
    break the report."""
    ours = "|".join(re.escape(escape) for escape in (style.strong, style.warning, style.faint, style.end) if escape)
    spelled = r"[\x00-\x09\x0b-\x1f\x7f-\x9f\udc80-\udcff]"
    return re.sub(
        f"{ours}|{spelled}" if ours else spelled,
        lambda found: found[0] if len(found[0]) > 1 else f"\\x{ord(found[0]) & 0xFF:02x}",
        text,
    )


def columns(header: Sequence[str], rows: Iterable[Sequence[str]], style: Style) -> Iterator[str]:
    """Columns two spaces apart; the last one runs free, the others are cut in their middle past WIDEST."""
    body = [[*(_cut(cell) for cell in row[:-1]), row[-1]] for row in rows]
    widths = [max(len(row[at]) for row in [list(header), *body]) for at in range(len(header))]
    for number, row in enumerate([list(header), *body]):
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        yield f"{style.faint}{line}{style.end}" if number == 0 else line


def _cut(cell: str) -> str:
    """The start and the end tell workloads apart; a name may have 4 KiB."""
    if len(cell) <= WIDEST:
        return cell
    half = (WIDEST - 1) // 2
    return f"{cell[:half]}…{cell[-half:]}"


def _size(count: int | None) -> str:
    """Bytes as people say them."""
    return NOTHING if count is None else size(count)


def _head(report: Report, style: Style) -> Iterator[str]:
    host = report.placement.host
    told = [host.nodename, f"kernel {host.kernel or '?'}", f"cgroup {report.placement.cgroup_layout or '?'}"]
    if host.mode != "live":
        told.append(host.mode)
    yield f"{style.strong}{' · '.join(told)}{style.end} · {timestamp(report.placement.taken_at)}"


def _machine(report: Report, style: Style) -> Iterator[str]:
    machine = report.placement.machine
    if machine is None:
        yield "The machine could not be read; see the sources below."
        return
    if not machine.nodes:
        yield "This kernel shows no NUMA nodes: nothing can be out of place."
        return
    rows = []
    for placed in machine.nodes:
        memory = placed.node.memory
        rows.append(
            (
                str(placed.id),
                NOTHING if placed.socket is None else str(placed.socket),
                placed.kind,
                idlist.render(placed.node.cpus) or NOTHING,
                _size(memory.total_bytes if memory else None),
                _size(memory.free_bytes if memory else None),
                _size(memory.reclaimable_bytes if memory else None),
            )
        )
    yield from columns(("NODE", "SOCKET", "KIND", "CPUS", "MEMORY", "FREE", "CACHE"), rows, style)


def _gpus(report: Report, style: Style) -> Iterator[str]:
    machine = report.placement.machine
    if machine is None:
        return
    if not machine.gpus_known:
        yield "The GPUs could not be read; see the sources below."
        return
    if not machine.gpus:
        yield "No GPU is visible on this host: there is nothing to align. A simulated one: numa-exporter demo"
        return
    rows = []
    for placed in machine.gpus:
        gpu = placed.gpu
        rows.append(
            (
                NOTHING if gpu.index is None else str(gpu.index),
                gpu.function.address.bus_id if gpu.function else NOTHING,
                _ids(placed.affinity) or "unknown",
                placed.source or NOTHING,
                gpu.model or gpu.vendor,
                gpu.uuid,
            )
        )
    yield from columns(("GPU", "PCI", "NODE", "TOLD BY", "MODEL", "UUID"), rows, style)


def _ranks(report: Report, style: Style) -> Iterator[str]:
    placement = report.placement
    machine = placement.machine
    if machine is None or not machine.gpus:
        return
    if placement.attribution.attributed is None:
        yield "Could not tell which process holds a GPU; see the sources below."
        return
    if not placement.workloads:
        yield "No process holds a GPU here now."
    else:
        rows = [_row(report, machine, workload, rank) for workload in placement.workloads for rank in workload.ranks]
        header = ("WORKLOAD", "GPU", "HOME", "CPU TIME", "MEMORY", "HOST BUFFERS", "PID")
        yield from columns(header, rows, style)
        yield f"{style.faint}Remote share of each: what is on another socket than the GPU.{style.end}"
    for seen in placement.observers:
        yield f"{style.faint}observer: {seen.comm} ({seen.key.pid}){style.end}"
    lost = placement.attribution.unattributed
    if lost:
        yield f"{lost} GPU process(es) could not be attributed to a workload."


def _row(report: Report, machine: Machine, workload: Workload, rank: Rank) -> tuple[str, ...]:
    indexes = [placed.gpu.index for uuid in rank.gpus if (placed := machine.gpu(uuid))]
    named = ",".join("?" if index is None else str(index) for index in indexes)
    cells = [_cell(report, rank, dimension) for dimension in JUDGED]
    pids = ",".join(str(process.key.pid) for process in rank.processes[:4])
    more = len(rank.processes) - 4
    return (str(workload.key), named, _ids(rank.home) or "unknown", *cells, pids + (f" +{more}" if more > 0 else ""))


def _cell(report: Report, rank: Rank, dimension: Dimension) -> str:
    """The ratio with a mark where judged bad, and why where not judged."""
    ratio = rank.misalignment.get(dimension)
    verdict = report.verdicts.get(rank.key, {}).get(dimension)
    told = NOTHING if ratio is None else f"{ratio:.0%}"
    if verdict is None:
        return told
    if verdict.misaligned:
        return f"▲ {told}"
    return f"{told} (not judged: {verdict.not_judged})" if verdict.not_judged else told


def _findings(report: Report, style: Style) -> Iterator[str]:
    ordered = sorted(report.findings, key=lambda finding: (bool(finding.suppressed), finding.level != "warning"))
    said: dict[str, Finding] = {}
    noted: set[tuple[WorkloadKey | None, str]] = set()
    for number, finding in enumerate(ordered):
        if number:
            yield ""
        yield from _finding(finding, style)
        yield from _to_do(finding, said, style)
        yield from _notes(finding, noted)


def _finding(finding: Finding, style: Style) -> Iterator[str]:
    mark = f"{style.warning}▲ {finding.code}{style.end}" if finding.level == "warning" else f"  {finding.code}"
    if finding.suppressed:
        meant = finding.suppressed
        mark = f"  {finding.code} (suppressed{f' until {meant.until}' if meant.until else ''}: {meant.reason})"
    yield mark
    yield from _wrapped(finding.sentence)
    for evidence in finding.evidence[:3]:
        yield f"    {style.faint}{evidence.path}: {evidence.line[:WIDTH]}{style.end}"


def _to_do(finding: Finding, said: dict[str, Finding], style: Style) -> Iterator[str]:
    """Each form once: of what a finding above has said, that one is named."""
    new = [form for form in _forms(finding) if form not in said]
    for above in _above(finding, said):
        yield f"    {style.strong}do:{style.end} as for {above}"
    if new:
        yield f"    {style.strong}do:{style.end}"
    for number, form in enumerate(new):
        yield from ([""] if number else [])
        yield from textwrap.indent(form, "      ").split("\n")
        said[form] = finding


def _above(finding: Finding, said: dict[str, Finding]) -> Iterator[str]:
    """A finding above, its workload if it is another, and which of its forms if not all: its numactl may bind to a home
    that is not this one's."""
    forms = _forms(finding)
    for other in dict.fromkeys(said[form] for form in forms if form in said):
        workload = other.subject.workload
        named = other.code if workload in (None, finding.subject.workload) else f"{other.code} of {workload}"
        shared = [form for form in _forms(other) if form in forms]
        which = "" if shared == _forms(other) else f": {', '.join(map(_title, shared))}"
        yield f"{named} above{which}"


def _forms(finding: Finding) -> list[str]:
    return finding.remedy.split("\n\n") if finding.remedy else []


def _title(form: str) -> str:
    """kubelet, pod spec, in the container's command: what stands in a form's first line before a colon or comma."""
    return re.split(r"[,:;\n]", form.removeprefix("# "), maxsplit=1)[0]


def _notes(finding: Finding, noted: set[tuple[WorkloadKey | None, str]]) -> Iterator[str]:
    """Each once a workload."""
    for note in finding.remedy_note.split("\n") if finding.remedy_note else ():
        if (finding.subject.workload, note) not in noted:
            yield from _wrapped(note)
            noted.add((finding.subject.workload, note))


def _wrapped(text: str) -> Iterator[str]:
    return iter(textwrap.wrap(text, WIDTH - 4, initial_indent="    ", subsequent_indent="    "))


def _sources(report: Report, style: Style) -> Iterator[str]:
    for health in report.health.values():
        if health.failure and health.failure.word != "absent":
            failure = health.failure
            yield f"{style.warning}source {health.name}: {failure.word}{style.end}: {failure.path}: {failure.detail}"
        elif health.failure:
            yield f"{style.faint}source {health.name}: absent: {health.failure.detail}{style.end}"
    sampling = report.placement.sampling
    if sampling is not None and sampling.obstacle is not None:
        yield f"{style.faint}source memory: {sampling.obstacle}{style.end}"


def _ids(ids: Iterable[int]) -> str:
    return idlist.render(frozenset(ids))
