"""What the log says once: a source that fails or answers again, a finding, how pages are sampled."""

import logging
from dataclasses import replace

import pytest

from numa_exporter.agent.pipeline import Pipeline
from numa_exporter.agent.transitions import Transitions
from numa_exporter.model.health import Failure, SourceHealth
from numa_exporter.model.processes import Sampling
from numa_exporter.model.report import Finding, Report, Subject, Suppression
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


def with_source(report: Report, failure: Failure | None) -> Report:
    return replace(report, health={"traffic": SourceHealth(name="traffic", up=True, failure=failure, interval=15)})


def test_a_source_is_spoken_of_when_it_changes(report: Report, caplog: pytest.LogCaptureFixture) -> None:
    transitions = Transitions()
    absent, denied = (Failure(word=word, path="/p", detail="why") for word in ("absent", "denied"))
    with caplog.at_level(logging.INFO):
        for failure in (absent, absent, denied, denied, None, None):
            transitions.note(with_source(report, failure))
    assert [(one.levelname, one.getMessage()) for one in caplog.records] == [
        ("INFO", "source absent"),
        ("WARNING", "source failed"),
        ("INFO", "source answers"),
    ]


def test_a_finding_is_spoken_of_when_it_comes_and_goes(report: Report, caplog: pytest.LogCaptureFixture) -> None:
    transitions = Transitions()
    found = Finding(code="gpu_node_polluted", level="warning", subject=Subject(numa_node=1), sentence="Node 1 is full.")
    with caplog.at_level(logging.INFO):
        for findings in ((found,), (found,), (), ()):
            transitions.note(replace(report, findings=findings))
        transitions.note(replace(report, findings=(replace(found, suppressed=Suppression(reason="known")),)))
    assert [(one.levelname, one.getMessage(), getattr(one, "numa_node", None)) for one in caplog.records] == [
        ("WARNING", "Node 1 is full.", 1),
        ("INFO", "finding cleared", 1),
        ("INFO", "Node 1 is full.", 1),
    ]
