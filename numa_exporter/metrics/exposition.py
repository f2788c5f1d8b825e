"""Rows to bytes: text format 0.0.4 and OpenMetrics, by prometheus_client."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import prometheus_client
from prometheus_client.metrics_core import Metric
from prometheus_client.openmetrics import exposition as openmetrics_exposition

from numa_exporter.metrics.row import Row, View

TEXT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
OWN = ("numa_exporter_", "process_")
OPENMETRICS_TYPE = openmetrics_exposition.CONTENT_TYPE_LATEST


@dataclass(frozen=True, slots=True, kw_only=True)
class Families:
    """Families of one View, ready to be written in either format; ``dropped`` counts series past the limit."""

    metrics: tuple[Metric, ...]
    series: int
    dropped: dict[str, int]

    def collect(self) -> Iterator[Metric]:
        return iter(self.metrics)


def families(table: Sequence[Row], view: View, max_series: int | None = None) -> Families:
    """Evaluate every row once. Past ``max_series`` only the agent's own few are kept: which source is down must not be
    what a limit hides. A row whose label values do not fit its labels, or that repeats a key, raises
    ValueError: prometheus_client would drop labels without a word, and promtool would not notice a repeated key."""
    metrics: list[Metric] = []
    dropped: dict[str, int] = {}
    series = 0
    for row in table:
        name = row.name.removesuffix("_total") if row.kind == "counter" else row.name
        metric = Metric(name, row.help, row.kind)
        seen: set[tuple[object, ...]] = set()
        for values, value in row.samples(view):
            if values in seen:
                raise ValueError(f"{row.name}{values}: exposed twice")
            seen.add(values)
            if max_series is not None and series >= max_series and not row.name.startswith(OWN):
                dropped[row.name] = dropped.get(row.name, 0) + 1
                continue
            labels = {k: str(v) for k, v in zip(row.labels, values, strict=True) if v is not None and v != ""}
            metric.add_sample(row.name, labels, value)
            series += 1
        if metric.samples:
            metrics.append(metric)
    return Families(metrics=tuple(metrics), series=series, dropped=dropped)


def text(found: Families) -> bytes:
    """Prometheus text format 0.0.4."""
    return prometheus_client.generate_latest(found)


def open_metrics(found: Families) -> bytes:
    """OpenMetrics 1.0."""
    return bytes(openmetrics_exposition.generate_latest(found))  # type: ignore[no-untyped-call]
