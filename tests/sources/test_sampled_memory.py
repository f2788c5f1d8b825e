"""When the source samples, by what means, and what it says where it cannot."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import pytest

from numa_exporter.model.processes import MappedMemory, Sampling
from numa_exporter.model.recording import Recording
from numa_exporter.sources.host import Host, HostError, PageTables, PresentEdges
from numa_exporter.sources.memory import LONGEST_CALL, PROCESS_INTERVAL, MemoryReader
from numa_exporter.sources.replay import RecordingHost, ReplayHost
from tests.bench.sampler_scenarios import SCENARIOS
from tests.bench.sampler_worlds import World, resident
from tests.fakehost import fake_host
from tests.sources.proc_tree import processes_of, sample, stat

PAGE, GIB = 4096, 1 << 30
DEVICES = {"file": "fe:00 14 /usr/lib/x", "shmem": "00:01 9 /memfd:ring (deleted)", "driver": "00:06 5 /dev/nvidia0"}
DEVICES |= {
    "shmem_anon": "00:01 3 /dev/zero (deleted)",
    "hugetlb": "00:0f 31 /anon_hugepage (deleted)",
    "anon": "00:00 0",
}
KINDS = {"anon": "p", "file": "p"}


class Process(RecordingHost):
    """A process whose address space is a synthetic world, at a fake /proc."""

    def __init__(self, world: World, *, frames: int = 1, refuse: str = "", held: float = 0.0) -> None:
        self.frames_of_files = fake_host(_files(world), later=({},) * (frames - 1))
        super().__init__(self.frames_of_files)
        self._world, self._refuse_word, self._held = world, refuse, held
        self.looks = 0

    def page_nodes(self, pid: int, addresses: Sequence[int]) -> Sequence[int]:
        if self._refuse_word == "move_pages":
            raise HostError("denied", f"/proc/{pid}/move_pages", "Operation not permitted")
        return self._world.nodes([address // PAGE for address in addresses]) if pid else [-14]

    @contextmanager
    def page_tables(self, pid: int) -> Iterator[PageTables]:
        if self._refuse_word == "pagemap":
            raise HostError("denied", f"/proc/{pid}/pagemap", "Permission denied")
        yield self

    def present(self, start: int, end: int, max_pages: int = 0) -> PresentEdges:
        ranges, seconds = self._world.present(start // PAGE, end // PAGE, max_pages)
        return [edge * PAGE for pair in ranges for edge in pair], seconds

    def seed(self, label: str) -> int:
        self.looks += label == "sampler 42"
        return self.looks

    def longest_hold(self, pid: int, label: str) -> float:
        return self._held


def _files(world: World) -> dict[str, str | bytes]:
    counters = resident(world)
    kib = {
        "VmRSS": counters.total,
        "RssAnon": counters.anon or 0,
        "RssFile": counters.file or 0,
        "RssShmem": counters.shmem or 0,
        "HugetlbPages": counters.hugetlb,
    }
    spans = sorted((first, end, backing) for backing, intervals in world.frame().items() for first, end in intervals)
    maps = "".join(
        f"{first * PAGE:x}-{end * PAGE:x} rw-{KINDS.get(backing, 's')} 00000000 {DEVICES[backing]}\n"
        for first, end, backing in spans
    )
    head = f"{spans[0][0] * PAGE:x} bind:1 anon=1 N0=1 kernelpagesize_kB=4\n"
    return {
        "/proc/42/stat": stat(42),
        "/proc/42/status": "Name:\tengine\n" + "".join(f"{name}:\t{4 * pages} kB\n" for name, pages in kib.items()),
        "/proc/42/mountinfo": "",
        "/proc/42/maps": maps,
        "/proc/42/numa_maps": head,
    }


def read(host: Host, reader: MemoryReader) -> MappedMemory:
    outcome = reader.read(host, sample(host, processes=processes_of([42])))
    assert outcome.value is not None and outcome.failure is None
    (found,) = outcome.value.by_process.values()
    return found


def sampling(host: Host, reader: MemoryReader) -> Sampling | None:
    outcome = reader.read(host, sample(host, processes=processes_of([42])))
    assert outcome.value is not None
    return outcome.value.sampling


@pytest.fixture
def mixed() -> World:
    return SCENARIOS["mixed backings"](1, True)


def test_a_large_process_is_sampled(mixed: World) -> None:
    host, reader = Process(mixed), MemoryReader(every_look=True)
    for _ in range(4):
        found = read(host, reader)
    assert (found.method, found.withheld, found.policy_bytes) == ("sample", None, None)
    assert found.estimates is not None
    for backing, nodes in mixed.truth().items():
        total = sum(nodes.values()) * PAGE
        tolerance = 0.3 if backing == "file" else 0.12
        assert sum(found.mapped[backing].values()) == pytest.approx(total, rel=tolerance)
        assert sum(found.mapped[backing].values()) == pytest.approx(
            found.estimates[backing].resident_bytes, abs=len(nodes)
        )
    assert found.segments.keys() == {"0:1:9"}
    assert found.segments["0:1:9"] == pytest.approx(found.mapped["shmem"], abs=2)
    assert sampling(host, reader) == Sampling(means="pagemap_scan")


def test_without_the_right_to_open_pagemap_it_says_what_is_needed(mixed: World) -> None:
    host, reader = Process(mixed, refuse="pagemap"), MemoryReader(every_look=True)
    read(host, reader)
    told = sampling(host, reader)
    assert told is not None and told.means == "move_pages"
    assert told.obstacle is not None and "CAP_DAC_READ_SEARCH" in told.obstacle


def test_where_move_pages_is_blocked_a_large_process_is_withheld(mixed: World) -> None:
    host, reader = Process(mixed, refuse="move_pages"), MemoryReader(every_look=True)
    found = read(host, reader)
    assert found.method == "walk" and found.mapped == {}
    assert found.withheld is not None
    assert "over the budget" in found.withheld and "seccomp" in found.withheld
    told = sampling(host, reader)
    assert told is not None and told.means == "none"
    assert host.looks == 0


def test_where_move_pages_is_blocked_a_small_process_is_walked() -> None:
    world = SCENARIOS["3,000 mappings, 5 % resized"](1, True)
    host = Process(world, refuse="move_pages")
    assert resident(world).total * PAGE < 4 * GIB
    outcome = MemoryReader(every_look=True).read(host, sample(host, processes=processes_of([42])))
    # numa_maps of the fake /proc has one line only: what matters is that it was read.
    assert outcome.counts == {"gone": 1}


def test_only_sampling_means_only_sampling(mixed: World) -> None:
    found = read(Process(mixed, refuse="move_pages"), MemoryReader("sample", every_look=True))
    assert found.withheld is not None and found.withheld.startswith("only sampling is allowed; move_pages is refused")
    world = SCENARIOS["3,000 mappings, 5 % resized"](1, True)
    assert read(Process(world), MemoryReader("sample", every_look=True)).method == "sample"


def test_a_replay_samples_the_same(mixed: World) -> None:
    inner = Process(mixed, frames=3)
    recorder = RecordingHost(inner)

    def looks(on: Host, step: Callable[[], object]) -> list[MappedMemory]:
        reader = MemoryReader(every_look=True)
        told = []
        for _ in range(3):
            told.append(read(on, reader))
            step()
        return told

    def step() -> None:
        inner.frames_of_files.advance()
        recorder.begin()

    live = looks(recorder, step)
    recording = Recording(nodename="x", simulated=False, exporter="t", frames=tuple(recorder.frames()), settings={})
    replayed = ReplayHost(recording)
    assert looks(replayed, replayed.advance) == live


def readings(host: Process, looks: int) -> int:
    """How often the process is read in so many looks, 15 s apart."""
    reader = MemoryReader()
    for _ in range(looks):
        read(host, reader)
        host.frames_of_files.advance()
    return host.looks


def test_a_process_whose_lock_is_hard_to_get_is_asked_less_often(mixed: World) -> None:
    looks = 41
    calm = readings(Process(mixed, frames=looks), looks)
    contended = readings(Process(mixed, frames=looks, held=LONGEST_CALL * 3), looks)
    assert calm >= 0.8 * 15 * (looks - 1) / (1.25 * PROCESS_INTERVAL)
    assert 2 <= contended <= calm / 3
