import threading
from collections.abc import Iterator

import pytest

from numa_exporter.model.ids import ProcessKey
from numa_exporter.model.recording import Recording
from numa_exporter.sources.guard import Guard
from numa_exporter.sources.host import HostError
from numa_exporter.sources.replay import RecordingHost, ReplayHost
from tests.fakehost import GONE, fake_host

WEDGED = ProcessKey(pid=7, start_ticks=1)
HEALTHY = ProcessKey(pid=8, start_ticks=1)


@pytest.fixture
def forever() -> Iterator[threading.Event]:
    """An event that is set when the test is over, so that no thread outlives it."""
    event = threading.Event()
    yield event
    event.set()


def test_results_and_errors_come_through() -> None:
    host = fake_host({"/proc/7/maps": GONE})
    guard = Guard(5)
    assert guard.run(host, WEDGED, "/proc/7/maps", lambda: 42) == 42
    with pytest.raises(HostError) as caught:
        guard.run(host, WEDGED, "/proc/7/maps", lambda: host.read("/proc/7/maps"))
    assert caught.value.word == "gone"
    assert not guard.quarantined(WEDGED)


def test_a_stuck_read_stops_nobody_else(forever: threading.Event) -> None:
    host = fake_host({})
    guard = Guard(0.5)
    with pytest.raises(HostError) as caught:
        guard.run(host, WEDGED, "/proc/7/maps", forever.wait)
    assert (caught.value.word, caught.value.path) == ("stuck", "/proc/7/maps")
    assert guard.run(host, HEALTHY, "/proc/8/maps", lambda: "read") == "read"


def test_a_stuck_process_is_never_asked_again(forever: threading.Event) -> None:
    host = fake_host({})
    guard = Guard(0.5)
    with pytest.raises(HostError):
        guard.run(host, WEDGED, "/proc/7/maps", forever.wait)
    with pytest.raises(HostError) as caught:
        guard.run(host, WEDGED, "/proc/7/maps", lambda: pytest.fail("was asked"))
    assert caught.value.word == "stuck"
    guard.keep([HEALTHY])
    assert guard.run(host, WEDGED, "/proc/7/maps", lambda: "a new process") == "a new process"


def test_a_replay_is_stuck_where_the_live_reader_was(forever: threading.Event) -> None:
    recorder = RecordingHost(fake_host({"/proc/7/maps": b"late", "/proc/8/maps": b"x"}))
    guard = Guard(0.5)
    with pytest.raises(HostError):
        guard.run(recorder, WEDGED, "/proc/7/maps", forever.wait)
    recording = Recording(nodename="x", simulated=False, exporter="t", frames=tuple(recorder.frames()), settings={})
    replayed = ReplayHost(recording)
    with pytest.raises(HostError) as caught:
        Guard(5).run(replayed, WEDGED, "/proc/7/maps", lambda: b"".join(replayed.stream("/proc/7/maps", 64)))
    assert caught.value.word == "stuck"


def test_a_read_that_comes_late_does_not_undo_the_giving_up() -> None:
    recorder = RecordingHost(fake_host({"/proc/7/maps": b"late"}))
    stream = recorder.stream("/proc/7/maps", 64)
    next(stream)
    recorder.give_up("/proc/7/maps", "no answer within 5 s")
    assert list(stream) == []
    recording = Recording(nodename="x", simulated=False, exporter="t", frames=tuple(recorder.frames()), settings={})
    with pytest.raises(HostError) as caught:
        ReplayHost(recording).read("/proc/7/maps")
    assert caught.value.word == "stuck"
