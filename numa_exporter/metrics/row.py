"""A metric is one row: name, kind, labels, help, and how its samples come out of a Report. Rows are the only truth."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from numa_exporter.model.health import AgentStats
from numa_exporter.model.ids import WorkloadKey
from numa_exporter.model.report import Report

LabelValue = str | int | None
"""None is an unknown or inapplicable label and is left out of the exposition."""

Sample = tuple[tuple[LabelValue, ...], float]

W = ("namespace", "pod", "container", "unit")
"""The label set of a workload (contract: W)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What a row reads: the Report and, while an agent runs, how the agent fares."""

    report: Report
    agent: AgentStats | None = None
    version: str = ""
    revision: str = ""
    python: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One metric family. ``samples`` yields (label values in the order of ``labels``, value)."""

    name: str
    kind: Literal["gauge", "counter"]
    labels: tuple[str, ...]
    help: str
    samples: Callable[[View], Iterator[Sample]]


def workload_labels(key: WorkloadKey) -> tuple[LabelValue, ...]:
    """Values of W."""
    return key.namespace, key.pod, key.container, key.unit
