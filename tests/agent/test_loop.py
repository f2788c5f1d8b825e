"""The loop itself: ticks skip and never queue, a defect of ours is said and survived, late answers count."""

import asyncio
import logging
import threading
from collections.abc import Callable

import pytest

from numa_exporter.agent import loop as loop_module
from numa_exporter.agent.governor import Governor
from numa_exporter.agent.loop import Loop
from numa_exporter.agent.pipeline import Pipeline
from numa_exporter.agent.publish import Shown, show
from numa_exporter.model.machine import Traffic, TrafficDomain
from numa_exporter.model.report import Report
from numa_exporter.model.sample import Sample
from numa_exporter.model.thresholds import Settings
from numa_exporter.sources.host import Host
from numa_exporter.sources.source import Outcome, Source
from tests.fakehost import fake_host

INTERVAL = 0.05


class Reader:
    """Answers when it is let."""

    def __init__(self) -> None:
        self.may = threading.Event()
        self.asked = 0

    def read(self, host: Host, sample: Sample) -> Outcome[Traffic]:
        self.asked += 1
        self.may.wait()
        domain = TrafficDomain(domain=str(self.asked), cpus=frozenset(), total_bytes=None, local_bytes=None)
        return Outcome(value=Traffic(domains=(domain,)))


def loop_of(*readers: tuple[str, Reader, float], kind: type[Loop] = Loop) -> Loop:
    """Sources by name, reader and deadline."""

    def source(name: str, reader: Reader, deadline: float) -> Source:
        return Source(name=name, interval=INTERVAL, deadline=deadline, make=lambda _: reader, reads="nothing")

    pipeline = Pipeline(fake_host({}), [source(*row) for row in readers], Settings())
    return kind(pipeline, Governor(1.0), interval=INTERVAL, page=False, max_series=None)


async def running(loop: Loop, until: Callable[[], bool]) -> None:
    """Runs the loop until something holds, then stops it."""
    stop = asyncio.Event()
    ticking = asyncio.create_task(loop.run(stop))
    while not until():
        await asyncio.sleep(INTERVAL / 5)
    stop.set()
    await ticking


async def test_a_tick_that_runs_over_makes_the_next_ones_skip() -> None:
    class Slow(Loop):
        began = 0

        async def tick(self) -> None:
            type(self).began += 1
            assert not self.inside, "two ticks at once"
            self.inside = True
            await asyncio.sleep(2.5 * INTERVAL)
            self.inside = False

        inside = False

    loop = loop_of(kind=Slow)
    await running(loop, lambda: Slow.began >= 3)
    assert loop._skipped >= 2 * (Slow.began - 1)


async def test_a_defect_in_a_tick_is_said_and_a_probe_sees_it(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Loop):
        tries = 0

        async def tick(self) -> None:
            type(self).tries += 1
            raise ZeroDivisionError("of ours")

    loop = loop_of(kind=Broken)
    with caplog.at_level(logging.ERROR):
        await running(loop, lambda: not loop.healthy and Broken.tries > 3)
    assert {record.getMessage() for record in caplog.records} == {"tick failed"}
    assert caplog.records[0].exc_info is not None and caplog.records[0].exc_info[0] is ZeroDivisionError


async def test_a_defect_in_a_reader_is_garbled_and_the_others_go_on() -> None:
    class Defective(Reader):
        def read(self, host: Host, sample: Sample) -> Outcome[Traffic]:
            raise KeyError("of ours")

    well = Reader()
    well.may.set()
    loop = loop_of(("devices", Defective(), 1.0), ("traffic", well, 1.0))
    await loop.tick()
    assert loop.published is not None
    health = loop.published.report.health
    assert health["devices"].failure is not None and health["devices"].failure.word == "garbled"
    assert health["traffic"].up is True


async def test_a_source_in_flight_is_late_first_and_stuck_past_its_deadline() -> None:
    silent, well = Reader(), Reader()
    well.may.set()
    loop = loop_of(("devices", silent, 6 * INTERVAL), ("traffic", well, 1.0))
    await loop.tick()
    assert loop.published is not None
    assert loop.published.report.health["devices"].up is None, "not read yet, and not stuck yet"
    assert loop.published.report.health["traffic"].up is True

    def failure() -> object:
        assert loop.published is not None
        return loop.published.report.health["devices"].failure

    await running(loop, lambda: failure() is not None)
    assert loop.published.report.health["devices"].failures == {"stuck": 1}
    assert (silent.asked, loop.healthy) == (1, True), "it is not asked again while it hangs"
    silent.may.set()
    await running(loop, lambda: failure() is None)
    assert loop.published.report.health["devices"].up is True
    assert loop.published.report.health["devices"].failures == {"stuck": 1}


async def test_a_source_waits_for_those_it_needs_but_not_for_ever() -> None:
    silent, well = Reader(), Reader()
    well.may.set()
    needing = Source(
        name="traffic", interval=INTERVAL, deadline=9.0, make=lambda _: well, reads="nothing", needs=("devices",)
    )
    needed = Source(name="devices", interval=INTERVAL, deadline=9.0, make=lambda _: silent, reads="nothing")
    pipeline = Pipeline(fake_host({}), [needed, needing], Settings())
    loop = Loop(pipeline, Governor(1.0), interval=INTERVAL, page=False, max_series=None)
    await running(loop, lambda: loop.published is not None and loop.published.report.health["traffic"].up is True)
    assert loop.published is not None and loop.published.report.health["devices"].up is None


async def test_what_people_read_is_rendered_once_a_report_and_only_if_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    rendered: list[Report] = []

    def noted(report: Report, *, with_page: bool) -> Shown:
        rendered.append(report)
        return show(report, with_page=with_page)

    monkeypatch.setattr(loop_module, "show", noted)
    loop = loop_of()
    assert await loop.shown() is None, "nothing is published"
    await loop.tick()
    assert rendered == []
    impatient = asyncio.create_task(loop.shown())
    await asyncio.sleep(0)
    impatient.cancel()
    first, second = await asyncio.gather(loop.shown(), loop.shown())
    assert first is second is not None and len(rendered) == 1
    await loop.tick()
    assert await loop.shown() is not first
    assert loop.published is not None and rendered[-1] is loop.published.report
