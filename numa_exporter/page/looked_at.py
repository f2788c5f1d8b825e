"""The end of the page: who merely watches, what is wrong with the machine itself, what was read, limits in force."""

from numa_exporter.page import notes
from numa_exporter.page.document import Document, Source
from numa_exporter.page.ledger import Ledger
from numa_exporter.page.markup import NOTHING, Markup, join, tag
from numa_exporter.page.rows import TRIANGLE

MEANING = (
    "Remote means another socket; memory on another node of the home socket counts neither way. "
    "File pages and page cache are never judged. "
    "Bars are shares of one rank's own total, so rows compare in shape, not in size."
)


def draw_observers(document: Document) -> Markup:
    """One sentence; nothing where there are none."""
    if not document.observers:
        return NOTHING
    words = f" (hold a device open, compute nothing): {', '.join(document.observers)}."
    return tag("p", tag("b", "Observers"), words, class_="observers")


def draw_machine_findings(ledger: Ledger) -> Markup:
    """Findings about the machine, a device, or a workload that has gone since."""
    said = notes.draw(ledger.about_machine, "machine", ledger.document.taken_at)
    if not said:
        return NOTHING
    return tag("section", tag("h2", "About the machine itself"), said, id="machine", tabindex=-1)


def draw_sources(document: Document) -> Markup:
    """Every source with its health, then the limits."""
    return tag(
        "section",
        tag("h2", "What was looked at"),
        tag("ul", (_source(source) for source in document.sources), class_="sources", role="list"),
        tag("p", MEANING, class_="quiet"),
        _limits(document),
    )


def _limits(document: Document) -> Markup:
    """Folded: whoever asks why a verdict was given opens it, nobody else needs forty numbers."""
    if not document.thresholds:
        return NOTHING
    limits = (tag("li", f"{name} {limit:.10g}") for name, limit in document.thresholds.items())
    return tag(
        "details", tag("summary", "Limits in force"), tag("ul", limits, class_="sources", role="list"), id="limits"
    )


def _source(source: Source) -> Markup:
    times = join(
        f", read {source.age_seconds:.0f} s ago" if source.age_seconds is not None else None,
        f", took {_milliseconds(source.duration_seconds)} ms" if source.duration_seconds is not None else None,
    )
    if source.up is False:
        return tag(
            "li", tag("b", source.name), " ", TRIANGLE, f" down: {source.failure or 'unknown'}", times, class_="down"
        )
    state = " up" if source.up else f" {source.failure or 'absent'}"
    return tag("li", tag("b", source.name), state, times)


def _milliseconds(seconds: float) -> str:
    return "<1" if seconds < 0.001 else f"{seconds * 1000:.0f}"
