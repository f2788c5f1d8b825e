"""Findings and the limits that they were judged by."""

from collections import Counter
from collections.abc import Iterator

from numa_exporter.metrics.row import LabelValue, Row, Sample, View, W, workload_labels
from numa_exporter.model.ids import WorkloadKey
from numa_exporter.model.thresholds import limits


def _findings(view: View) -> Iterator[Sample]:
    counts: Counter[tuple[LabelValue, ...]] = Counter()
    for finding in view.report.findings:
        subject = finding.subject
        counts[
            (
                finding.code,
                finding.level,
                *workload_labels(subject.workload or WorkloadKey()),
                subject.uuid,
                subject.numa_node,
                subject.device,
                "true" if finding.suppressed else None,
            )
        ] += 1
    yield from counts.items()


def _thresholds(view: View) -> Iterator[Sample]:
    for limit in limits(view.report.settings.thresholds):
        yield (limit.name,), limit.value


ROWS = (
    Row(
        name="numa_findings",
        kind="gauge",
        labels=("code", "level", *W, "uuid", "numa_node", "device", "suppressed"),
        help="Findings now, by code, level and subject; suppressed is true where an intent covers it.",
        samples=_findings,
    ),
    Row(
        name="numa_exporter_threshold",
        kind="gauge",
        labels=("name",),
        help="A limit of a verdict, in base units: flag --threshold.NAME.",
        samples=_thresholds,
    ),
)
