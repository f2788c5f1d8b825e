"""The verdict: one heading that says how it stands, one line per workload against the grain, and what is not seen."""

from collections.abc import Sequence

from numa_exporter.page.anchors import anchor
from numa_exporter.page.document import Document, Source
from numa_exporter.page.lanes import DIMENSIONS, Lane
from numa_exporter.page.ledger import Entry, Ledger, Row
from numa_exporter.page.markup import NOTHING, Markup, join, tag
from numa_exporter.page.notes import CAUSES, fix_anchor
from numa_exporter.page.rows import TRIANGLE
from numa_exporter.page.spoken import home_words
from numa_exporter.page.words import on_nodes, percent, plural

MOST_LINES = 5
TOLD_APART = 2  # more bad ranks of one workload than this are told together
RESTS_ON = {
    "topology": "the machine itself",
    "gpus": "which GPUs are here",
    "nvml": "who holds which GPU",
    "processes": "which process is whose",
    "cgroups": "what each container may use",
    "threads": "where CPU time is spent",
    "memory": "where pages are",
    "kubelet": "which pod was granted what",
    "names": "what pods, containers and jobs are called",
    "devices": "network cards, disks and their interrupts",
    "traffic": "memory bandwidth",
}


def draw(ledger: Ledger) -> Markup:
    """The section with the page's h1."""
    bad = any(entry.against for entry in ledger.entries)
    heading = tag("h1", (TRIANGLE, " ") if bad else None, headline(ledger), id="headline")
    lines = (*_workload_lines(ledger), *_machine_lines(ledger), *_suppressed_line(ledger))
    listing = tag("ul", lines, role="list") if lines else None
    return tag("section", heading, _blind_spots(ledger.document), listing, id="verdict")


def headline(ledger: Ledger) -> str:
    """The first sentence that fits."""
    rows = ledger.rows
    if not rows:
        return _nothing_runs(ledger.document) + _warnings(ledger)
    bad = sum(bool(row.against) for row in rows)
    doubtful = sum(row.doubt is not None for row in rows)
    excused = sum(row.excused for row in rows)
    beside = f"; {doubtful} not fully judged" if doubtful else ""
    if bad:
        return f"{bad} of {plural(len(rows), 'rank')} {'runs' if bad == 1 else 'run'} against the grain{beside}"
    if ledger.columns.single:
        return "One NUMA node: nothing can be out of place" + _warnings(ledger)
    if doubtful == len(rows):
        return "Could not tell: no rank was fully judged"
    return _all_well(len(rows), doubtful, excused) + beside + _warnings(ledger)


def _all_well(ranks: int, doubtful: int, excused: int) -> str:
    if excused:
        well = ranks - doubtful - excused
        runs = "runs" if well == 1 else "run"
        return f"{well} of {plural(ranks, 'rank')} {runs} with the grain; {excused} suppressed on purpose"
    if ranks == 1:
        return "The only rank runs with the grain"
    if doubtful:
        judged = ranks - doubtful
        return f"All {judged} judged ranks run with the grain" if judged > 1 else "1 judged rank runs with the grain"
    return f"All {plural(ranks, 'rank')} run with the grain"


def _nothing_runs(document: Document) -> str:
    """Nothing is claimed that a source which is down would have had to see."""
    if not document.machine.gpus:
        known = document.machine.nodes and document.machine.gpus_known
        blind = not known or document.is_down("topology", "gpus", "nvml")
        return "Could not tell which GPUs are here" if blind else "This machine has no GPU"
    blind = not document.holders_known or document.is_down("nvml", "gpus", "processes")
    return "Could not tell which process holds a GPU" if blind else "No process holds a GPU here now"


def _warnings(ledger: Ledger) -> str:
    """Warnings beside ranks that are all well: of a cpuset, a grant, the machine."""
    count = sum(finding.live_warning for finding in ledger.document.findings)
    return f"; {plural(count, 'warning')}" if count else ""


def _workload_lines(ledger: Ledger) -> list[Markup]:
    loud = [entry for entry in ledger.entries if entry.against or entry.warnings]
    lines = [_line(ledger, entry) for entry in loud[:MOST_LINES]]
    if len(loud) > MOST_LINES:
        lines.append(tag("li", f"and {plural(len(loud) - MOST_LINES, 'more workload')}, below"))
    return lines


def _line(ledger: Ledger, entry: Entry) -> Markup:
    if not entry.against:
        said: Markup = join((finding.sentence for finding in entry.warnings[:TOLD_APART]), separator=" ")
    elif len(entry.against) > TOLD_APART:
        said = join(_together(ledger, entry.against), ".")
    else:
        said = join(join((_apart(row) for row in entry.against), separator="; "), ".")
    name = tag("a", entry.name, id=anchor("v", entry.anchor), href=f"#{entry.anchor}")
    why = _why(entry) if entry.against else None
    return tag("li", name, ": ", said, why, _what_to_type(entry.anchor) if entry.has_remedy else None)


def _why(entry: Entry) -> str | None:
    """The cause, where one is known: without it the reader mends what it led to."""
    codes = {finding.code for finding in entry.warnings}
    causes = [words for code, words in CAUSES.items() if code in codes]
    return f" Why: {' and '.join(causes)}." if causes else None


def _what_to_type(scope: str) -> Markup:
    return join(" ", tag("a", "What to type", id=anchor("t", scope), href=f"#{fix_anchor(scope)}"))


def _apart(row: Row) -> Markup:
    """One rank: **GPU 6** (home node 1) has **50 %** of its memory (18.7 GiB) on node 0."""
    shares = join((_share(lane, "its") for lane in row.against), separator=", ")
    far = {node for lane in row.against for node in lane.remote_nodes}
    return join(tag("b", row.name), f" ({home_words(row)}) has ", shares, f" on {on_nodes(far)}" if far else None)


def _together(ledger: Ledger, rows: Sequence[Row]) -> Markup:
    """Three ranks or more: **GPU 1, 4, 6** have up to **58 %** of their CPU time, … on the other socket."""
    lanes = [lane for row in rows for lane in row.against]
    largest = (
        max((lane for lane in lanes if lane.dimension is dimension), key=lambda lane: lane.ratio or 0, default=None)
        for dimension in DIMENSIONS
    )
    shares = join((_share(lane, "their") for lane in largest if lane is not None), separator=", ")
    names = ", ".join(row.gpu_names for row in rows)
    two = len(ledger.document.machine.sockets) == 2
    return join(
        tag("b", f"GPU {names}"), " have up to ", shares, " on the other socket" if two else " on other sockets"
    )


def _share(lane: Lane, whose: str) -> Markup:
    """ "**50 %** of its memory (18.7 GiB)"; CPU time without an amount."""
    part = percent(lane.ratio) if lane.ratio is not None else "an unknown part"
    amount = f" ({lane.remote_amount})" if lane.dimension.backings else None
    return join(tag("b", part), f" of {whose} {lane.dimension.name}", amount)


def _machine_lines(ledger: Ledger) -> list[Markup]:
    warnings = [finding for finding in ledger.about_machine if finding.live_warning]
    lines = [
        tag("li", tag("a", "the machine", id=f"v-machine-{index}", href="#machine"), ": ", finding.sentence)
        for index, finding in enumerate(warnings[:MOST_LINES])
    ]
    if len(warnings) > MOST_LINES:
        lines.append(tag("li", f"and {len(warnings) - MOST_LINES} more about the machine, below"))
    return lines


def _suppressed_line(ledger: Ledger) -> list[Markup]:
    count = sum(finding.suppressed is not None for finding in ledger.document.findings)
    return [tag("li", f"{plural(count, 'finding')} suppressed on purpose, shown below", class_="calm")] if count else []


def _blind_spots(document: Document) -> Markup:
    down = [_blind_spot(source) for source in document.sources if source.up is False]
    if not down:
        return NOTHING
    words = f" {'; '.join(down)}. What rests on them below is old or missing."
    return tag("p", tag("b", "Blind spots:"), words, class_="blind")


def _blind_spot(source: Source) -> str:
    age = f", last read {source.age_seconds:.0f} s ago" if source.age_seconds is not None else ""
    return f"{source.name}, {RESTS_ON.get(source.name, 'a side reading')} ({source.failure or 'down'}{age})"
