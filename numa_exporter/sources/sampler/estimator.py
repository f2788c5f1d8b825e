"""From tallies to bytes: the kernel's counters say how much, the sample says where."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt

from numa_exporter.formats.backing import Backing
from numa_exporter.model.estimate import Part, half_width
from numa_exporter.sources.sampler.frame import Resident
from numa_exporter.sources.sampler.tally import Tally

WIDEST = 0.12
"""Half-width of a node's share beyond which nothing is said."""
_SLACK, _TOTAL_SLACK, _SIGMAS = 0.10, 0.15, 3.0
_DRIFT = 2048.0
"""Pages: since 6.2 each CPU keeps what it added to a counter to itself for a while (mm/rss_stat, percpu_counter)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Pages by backing, and the tallies that say where they are. ``withheld`` says why they are not good enough.

    ``half_width`` is the widest of any node's share of all pages.
    """

    pages: Mapping[Backing, float]
    tallies: Mapping[Backing, Tally]
    half_width: float
    withheld: str | None


def estimate(tallies: Mapping[Backing, Tally], resident: Resident) -> Estimate:
    """The counters are trusted, unless a sample refutes one: then its own total stands for that backing."""
    found = {backing: tally.pages for backing, tally in tallies.items()}
    counted = resident.moved(found).by_backing(found)
    pages = {backing: _calibrated(tally, counted[backing]) for backing, tally in tallies.items()}
    width = _widest(pages, tallies)
    return Estimate(
        pages=pages,
        tallies=tallies,
        half_width=width,
        withheld=_withheld(sum(found.values()), width, tallies, resident),
    )


def _calibrated(tally: Tally, counted: float) -> float:
    refuted = abs(tally.pages - counted) > _SIGMAS * tally.error + _SLACK * counted
    return tally.pages if refuted else counted


def _widest(pages: Mapping[Backing, float], tallies: Mapping[Backing, Tally]) -> float:
    """The widest half-width of a node's share; what was not hit at all may lie anywhere."""
    total = sum(pages.values())
    unseen = sum(pages[backing] for backing, tally in tallies.items() if not tally.pages)
    if total <= 0 or unseen >= 0.5 * total:
        return 1.0
    seen = {backing: tally for backing, tally in tallies.items() if tally.pages}
    widths = []
    for node in {node for tally in seen.values() for node in tally.by_node}:
        parts = [
            Part(pages[backing] / total, tally.by_node.get(node, 0.0) / tally.pages, tally.effective)
            for backing, tally in seen.items()
        ]
        widths.append(half_width(parts))
    return max(widths) + unseen / total


def _withheld(found: float, width: float, tallies: Mapping[Backing, Tally], resident: Resident) -> str | None:
    if width > WIDEST:
        return f"the shares by node are known to ±{100 * min(width, 1.0):.0f} points only"
    error = sqrt(sum(tally.error**2 for tally in tallies.values()))
    if abs(found - resident.pages) > _SIGMAS * error + _TOTAL_SLACK * resident.pages + _DRIFT:
        part = found / max(1, resident.pages)
        return f"the sample stands for {100 * part:.0f} % of the resident pages"
    return None
