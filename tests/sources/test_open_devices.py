"""The scan of descriptors where a file server is dead."""

import threading
from collections.abc import Iterator

import pytest

from numa_exporter.model.ids import ProcessKey
from numa_exporter.sources.guard import Guard
from numa_exporter.sources.host import Host
from numa_exporter.sources.open_devices import NOTHING_OPEN, DescriptorScan
from numa_exporter.sources.replay import RecordingHost
from tests.fakehost import fake_host

HANGING = ProcessKey(pid=43, start_ticks=2)
HEALTHY = ProcessKey(pid=42, start_ticks=1)


class DeadServer(RecordingHost):
    """A host on which one descriptor's file never answers."""

    def __init__(self, host: Host, release: threading.Event) -> None:
        super().__init__(host)
        self._release = release
        self.asked = 0

    def device_number(self, path: str) -> tuple[int, int] | None:
        if path == "/proc/43/fd/4":
            self.asked += 1
            self._release.wait()
        return super().device_number(path)


@pytest.fixture
def release() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


def test_a_dead_file_server_costs_one_deadline_and_one_look(release: threading.Event) -> None:
    devices = {"/proc/42/fd/3": (195, 1), "/proc/43/fd/3": (195, 0), "/proc/43/fd/4": (195, 0)}
    host = DeadServer(fake_host({}, devices=devices), release)
    scan = DescriptorScan(Guard(0.5), budget=None)
    first = scan.scan(host, [HEALTHY, HANGING])
    assert [error.word for error in first] == ["stuck"]
    assert scan.of(HEALTHY) == NOTHING_OPEN  # its turn comes at the next look
    assert scan.scan(host, [HEALTHY, HANGING]) == []
    assert scan.of(HEALTHY).nvidia == frozenset({1})
    assert (scan.of(HANGING).nvidia, host.asked) == (frozenset(), 1)
    assert scan.error is not None and scan.error.word == "stuck"


def test_who_ended_is_forgotten() -> None:
    host = fake_host({}, devices={"/proc/42/fd/3": (195, 1)})
    scan = DescriptorScan(Guard(5))
    scan.scan(host, [HEALTHY])
    assert scan.of(HEALTHY).nvidia
    scan.scan(host, [])
    assert scan.of(HEALTHY) == NOTHING_OPEN
