"""What a scrape gets: bytes that exist. Rendered once a tick in a worker, swapped by one assignment."""

import gzip
import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass

from numa_exporter import __version__, page
from numa_exporter.metrics import TABLE, View
from numa_exporter.metrics.exposition import families, open_metrics, text
from numa_exporter.model.document import document
from numa_exporter.model.health import AgentStats
from numa_exporter.model.report import Report


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """One resource in both encodings, with its content type."""

    content_type: str
    plain: bytes
    gzipped: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """One report, rendered. ``open_metrics`` is None where nobody asked for it lately; ``page`` where it is off."""

    report: Report
    text: Body
    open_metrics: Body | None
    json: Body
    page: Body | None
    csp: str
    dropped: Mapping[str, int]


def body(content_type: str, data: bytes) -> Body:
    # Level 1: 3 times faster than the default for 5 % more bytes of metrics text.
    return Body(content_type=content_type, plain=data, gzipped=gzip.compress(data, compresslevel=1, mtime=0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which renderings are worth their time now."""

    open_metrics: bool
    page: bool
    max_series: int | None
    revision: str = ""


def publish(report: Report, stats: AgentStats, wanted: Wanted) -> Published:
    """Render everything that is wanted of one report."""
    view = View(
        report=report, agent=stats, version=__version__, revision=wanted.revision, python=platform.python_version()
    )
    found = families(TABLE, view, wanted.max_series)
    told = document(report)
    shown = page.render(told) if wanted.page else None
    return Published(
        report=report,
        text=body("text/plain; version=0.0.4; charset=utf-8", text(found)),
        open_metrics=body("application/openmetrics-text; version=1.0.0; charset=utf-8", open_metrics(found))
        if wanted.open_metrics
        else None,
        json=body("application/json", json.dumps(told, ensure_ascii=False).encode()),
        page=body("text/html; charset=utf-8", shown.html.encode()) if shown else None,
        csp=shown.csp if shown else "default-src 'none'",
        dropped=found.dropped,
    )
