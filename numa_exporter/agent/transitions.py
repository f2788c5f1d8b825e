"""Log transitions, not states: a source that fails or recovers, a finding that appears or clears."""

import logging

from numa_exporter.model.health import SourceHealth
from numa_exporter.model.processes import Sampling
from numa_exporter.model.report import Finding, Report, Subject

log = logging.getLogger("numa_exporter")


class Transitions:
    """Compares each report with the one before and logs what changed."""

    def __init__(self) -> None:
        self._failures: dict[str, str | None] = {}
        self._findings: dict[tuple[str, Subject], Finding] = {}
        self._sampling: Sampling | None = None

    def note(self, report: Report) -> None:
        for health in report.health.values():
            self._source(health)
        self._means(report.placement.sampling)
        now = {(finding.code, finding.subject): finding for finding in report.findings}
        for key, finding in now.items():
            if key not in self._findings:
                level = logging.WARNING if finding.level == "warning" and not finding.suppressed else logging.INFO
                log.log(level, finding.sentence, extra={"finding": finding.code, **_fields(finding.subject)})
        for key, finding in self._findings.items():
            if key not in now:
                log.info("finding cleared", extra={"finding": finding.code, **_fields(finding.subject)})
        self._findings = now

    def _means(self, sampling: Sampling | None) -> None:
        if sampling is None or sampling == self._sampling:
            return
        level = logging.WARNING if sampling.means == "none" else logging.INFO
        extra = {"source": "memory", "means": sampling.means}
        log.log(level, "page sampling", extra=extra | ({"detail": sampling.obstacle} if sampling.obstacle else {}))
        self._sampling = sampling

    def _source(self, health: SourceHealth) -> None:
        word = health.failure.word if health.failure else None
        if word == self._failures.get(health.name):
            return
        if health.failure:
            absent = health.failure.word == "absent"  # the host does not have it, which is no failure
            log.log(
                logging.INFO if absent else logging.WARNING,
                "source absent" if absent else "source failed",
                extra={
                    "source": health.name,
                    "failure": health.failure.word,
                    "path": health.failure.path,
                    "detail": health.failure.detail,
                },
            )
        elif health.name in self._failures:
            log.info("source answers", extra={"source": health.name})
        self._failures[health.name] = word


def _fields(subject: Subject) -> dict[str, object]:
    workload = subject.workload
    fields: dict[str, object] = {"workload": str(workload)} if workload else {}
    for name in ("uuid", "numa_node", "device"):
        if getattr(subject, name) is not None:
            fields[name] = getattr(subject, name)
    return fields
