"""What a scrape gets: bytes that exist, rendered once a tick in a worker and swapped by one assignment.

What people read, the page and the JSON document, is rendered when the first of them asks for it.
"""

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
    """One report, rendered for scrapers. ``open_metrics`` is None where nobody asked for it lately."""

    report: Report
    text: Body
    open_metrics: Body | None
    dropped: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """The same report for people, and the page's Content-Security-Policy. ``page`` is None where it is off."""

    json: Body
    page: Body | None
    csp: str


def body(content_type: str, data: bytes) -> Body:
    # Level 1: 3 times faster than the default for 5 % more bytes of metrics text.
    return Body(content_type=content_type, plain=data, gzipped=gzip.compress(data, compresslevel=1, mtime=0))


def publish(
    report: Report, stats: AgentStats, *, with_open_metrics: bool, max_series: int | None, revision: str = ""
) -> Published:
    """Render what Prometheus asks for."""
    view = View(report=report, agent=stats, version=__version__, revision=revision, python=platform.python_version())
    found = families(TABLE, view, max_series)
    return Published(
        report=report,
        text=body("text/plain; version=0.0.4; charset=utf-8", text(found)),
        open_metrics=body("application/openmetrics-text; version=1.0.0; charset=utf-8", open_metrics(found))
        if with_open_metrics
        else None,
        dropped=found.dropped,
    )


def show(report: Report, *, with_page: bool) -> Shown:
    """Render what people ask for."""
    told = document(report)
    shown = page.render(told) if with_page else None
    return Shown(
        json=body("application/json", json.dumps(told, ensure_ascii=False).encode()),
        page=body("text/html; charset=utf-8", shown.html.encode()) if shown else None,
        csp=shown.csp if shown else "default-src 'none'",
    )
