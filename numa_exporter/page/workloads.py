"""One block per workload: its name and state, a row per rank, what is wrong with it, what to type."""

from numa_exporter.page import notes, rows
from numa_exporter.page.ledger import Entry, Ledger
from numa_exporter.page.markup import Markup, join, tag
from numa_exporter.page.words import percent, plural

WORTH_SAYING = 0.01


def draw(ledger: Ledger) -> Markup:
    """All workloads in order; on a crowded machine those without a verdict fold to one line each, at the end."""
    is_open = [not ledger.folds or bool(entry.against or entry.warnings) for entry in ledger.entries]
    opened = (_block(ledger, e) for e, shown in zip(ledger.entries, is_open, strict=True) if shown)
    folded = [_fold(ledger, e) for e, shown in zip(ledger.entries, is_open, strict=True) if not shown]
    return join(opened, tag("div", folded, class_="folds") if folded else None)


def state(entry: Entry) -> str:
    """How the workload stands, in a few words."""
    if entry.against:
        return f"{len(entry.against)} of {plural(len(entry.rows), 'rank')} against the grain"
    if entry.warnings:
        return plural(len(entry.warnings), "warning")
    if any(row.excused for row in entry.rows):
        return f"suppressed: {_reason(entry)}"
    doubt = next((row.doubt for row in entry.rows if row.doubt), None)
    if doubt:
        return f"not fully judged: {doubt}"
    if not entry.rows:
        return "no rank holds a GPU"
    worst = max((lane.ratio or 0.0 for row in entry.rows for lane in row.lanes), default=0.0)
    far = f", at most {percent(worst)} remote" if worst >= WORTH_SAYING else ""
    return f"{plural(len(entry.rows), 'rank')} at home{far}"


def _reason(entry: Entry) -> str:
    reasons = (finding.suppressed.reason for finding in entry.findings if finding.suppressed)
    return next((reason for reason in reasons if reason), "no reason given")


def _block(ledger: Ledger, entry: Entry) -> Markup:
    heading = tag("div", _heading(entry, with_cpus=True), class_="workload-head")
    return tag("section", heading, _body(ledger, entry), id=entry.anchor, class_="workload", tabindex=-1)


def _fold(ledger: Ledger, entry: Entry) -> Markup:
    heading = tag("summary", _heading(entry, with_cpus=False))
    return tag("details", heading, _body(ledger, entry), id=entry.anchor, class_="workload")


def _heading(entry: Entry, *, with_cpus: bool) -> Markup:
    """The CPUs stand here as possibility; only pages and CPU time are drawn as placement."""
    loud = bool(entry.against or entry.warnings)
    gpus = "GPU " + ", ".join(row.gpu_names for row in entry.rows) if entry.rows else "no GPU"
    cpus = f", may use CPUs {entry.workload.cpuset_cpus}" if with_cpus and entry.workload.cpuset_cpus else ""
    mark = (rows.TRIANGLE, " ") if loud else None
    return join(
        tag("h3", entry.name),
        tag("span", f"{gpus}{cpus}", class_="gpus"),
        tag("span", mark, state(entry), class_="state loud" if loud else "state"),
    )


def _body(ledger: Ledger, entry: Entry) -> Markup:
    ranks = (rows.draw(row, ledger.columns) for row in entry.rows)
    helpers = (rows.draw_helper(helper) for helper in entry.workload.helpers)
    doubts = (tag("li", tag("b", row.name), f": low confidence, {row.doubted}.") for row in entry.rows if row.doubted)
    has_rows = entry.rows or entry.workload.helpers
    return tag(
        "div",
        tag("ul", ranks, helpers, class_="rows", role="list") if has_rows else None,
        tag("ul", doubts, class_="quiet doubts", role="list") if any(row.doubted for row in entry.rows) else None,
        notes.draw(entry.findings, entry.anchor, ledger.document.taken_at),
    )
