"""What the log says once: how pages can be sampled, and when that changes."""

import logging
from dataclasses import replace

import pytest

from numa_exporter.agent.pipeline import Pipeline
from numa_exporter.agent.transitions import Transitions
from numa_exporter.model.processes import Sampling
from numa_exporter.model.report import Report
from numa_exporter.model.thresholds import Settings
from tests.fakehost import fake_host

BLOCKED = Sampling(means="none", obstacle="move_pages is refused")


@pytest.fixture
def report() -> Report:
    pipeline = Pipeline(fake_host({}), (), Settings())
    return pipeline.report(pipeline.sample("report"))


def with_sampling(report: Report, sampling: Sampling | None) -> Report:
    return replace(report, placement=replace(report.placement, sampling=sampling))


def test_how_pages_are_sampled_is_said_once(report: Report, caplog: pytest.LogCaptureFixture) -> None:
    transitions = Transitions()
    with caplog.at_level(logging.INFO):
        for sampling in (None, BLOCKED, BLOCKED, None, Sampling(means="pagemap_scan")):
            transitions.note(with_sampling(report, sampling))
    said = [(one.levelname, getattr(one, "means", None), getattr(one, "detail", None)) for one in caplog.records]
    assert said == [("WARNING", "none", "move_pages is refused"), ("INFO", "pagemap_scan", None)]
