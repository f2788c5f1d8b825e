"""A look without the loop: what a source's defect costs."""

import pytest

from numa_exporter.agent.look import Looker
from numa_exporter.agent.pipeline import Pipeline
from numa_exporter.model.machine import Traffic
from numa_exporter.model.sample import Sample
from numa_exporter.model.thresholds import Settings
from numa_exporter.sources.host import Host
from numa_exporter.sources.source import Outcome, Source
from tests.fakehost import fake_host


class Broken:
    def read(self, host: Host, sample: Sample) -> Outcome[Traffic]:
        raise ZeroDivisionError("of ours")


class Sound:
    def read(self, host: Host, sample: Sample) -> Outcome[Traffic]:
        return Outcome(value=Traffic(domains=()))


def test_a_defect_of_ours_costs_its_source_and_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    sources = [
        Source(name="devices", interval=1, deadline=5, make=lambda _: Broken(), reads="nothing"),
        Source(name="traffic", interval=1, deadline=5, make=lambda _: Sound(), reads="nothing"),
    ]
    report = Looker(Pipeline(fake_host({}), sources, Settings())).look()
    health = report.health
    assert (health["devices"].up, health["traffic"].up) == (False, True)
    failure = health["devices"].failure
    assert failure is not None
    assert (failure.word, failure.detail) == ("garbled", "ZeroDivisionError: of ours")
    assert [record.getMessage() for record in caplog.records if record.exc_info] == ["source failed"]
