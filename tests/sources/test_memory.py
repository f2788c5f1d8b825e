"""The full walk of numa_maps, and when it is not taken."""

import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from numa_exporter.model.ids import ProcessKey
from numa_exporter.model.processes import MappedMemory, Memory
from numa_exporter.model.recording import Recording
from numa_exporter.model.sample import Sample
from numa_exporter.sources.host import Host, HostError
from numa_exporter.sources.mapped_pages import reason_not_to_walk
from numa_exporter.sources.memory import MemoryReader
from numa_exporter.sources.replay import RecordingHost, ReplayHost
from numa_exporter.sources.source import Outcome
from tests.fakehost import DENIED, GONE, Files, fake_host
from tests.sources.proc_tree import WALL, processes_of, sample, stat, topology

KEY = ProcessKey(pid=42, start_ticks=5000)
MIB, GIB = 1 << 20, 1 << 30

MAPS = """\
00400000-00401000 r-xp 00000000 fe:00 14                                 /bin/engine
27185000-271d9000 rw-p 00000000 00:00 0                                  [heap]
7ff400000000-7ff410000000 rw-s 00000000 00:1e 77                         /dev/shm/ring
7ff410000000-7ff420000000 rw-s 00000000 00:01 9                          /dev/zero (deleted)
7ff420000000-7ff420200000 rw-s 00000000 00:06 500                        /dev/nvidia0
7ff420200000-7ff420600000 rw-p 00000000 00:0f 31                         /anon_hugepage (deleted)
7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0                          [stack]
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]
"""
NUMA_MAPS = """\
00400000 bind:1 file=/bin/engine mapped=1 N0=1 kernelpagesize_kB=4
27185000 bind:1 heap anon=10 dirty=10 N0=4 N1=6 kernelpagesize_kB=4
7ff400000000 default file=/dev/shm/ring dirty=8 N1=8 kernelpagesize_kB=4
7ff410000000 default file=/dev/zero\\040(deleted) dirty=16 N0=16 kernelpagesize_kB=4
7ff420000000 default file=/dev/nvidia0 dirty=2 N0=2 kernelpagesize_kB=4
7ff420200000 bind:1 file=/anon_hugepage\\040(deleted) huge anon=2 dirty=2 N1=2 kernelpagesize_kB=2048
7ffc00000000 bind:1 stack anon=3 dirty=3 N1=3 kernelpagesize_kB=4
"""
MOUNTS = "25 24 0:30 / /dev/shm rw,relatime - tmpfs tmpfs rw\n"


def engine(pid: int = 42, *, resident: int = MIB, **changes: object) -> dict[str, object]:
    """The files that the source reads of one process."""
    given = {
        "stat": stat(pid),
        "status": f"Name:\tengine\nVmRSS:\t{resident // 1024} kB\nHugetlbPages:\t4096 kB\n",
        "mountinfo": MOUNTS,
        "maps": MAPS,
        "numa_maps": NUMA_MAPS,
        **changes,
    }
    return {f"/proc/{pid}/{name}": content for name, content in given.items()}


def look(host: Host, reader: MemoryReader | None = None, **fields: object) -> Outcome[Memory]:
    reader = reader or MemoryReader(every_look=True)
    return reader.read(host, sample(host, processes=processes_of([42], **fields)))  # type: ignore[arg-type]


def only(outcome: Outcome[Memory]) -> MappedMemory:
    assert outcome.value is not None
    return outcome.value.by_process[KEY]


def nothing(outcome: Outcome[Memory]) -> bool:
    return outcome.value is not None and not outcome.value.by_process


def host_of(*processes: Mapping[str, object], later: tuple[Files, ...] = ()) -> ReplayHost:
    files: dict[str, object] = {}
    for one in processes:
        files |= one
    return fake_host(files, later=later)  # type: ignore[arg-type]


def test_every_backing_by_node_in_bytes() -> None:
    found = only(look(host_of(engine())))
    assert found.mapped == {
        "file": {0: 4096},
        "anon": {0: 4 * 4096, 1: 9 * 4096},
        "shmem": {1: 8 * 4096},
        "shmem_anon": {0: 16 * 4096},
        "driver": {0: 2 * 4096},
        "hugetlb": {1: 4 * MIB},
    }
    assert found.segments == {"0:30:77": {1: 8 * 4096}}
    assert (found.method, found.withheld, found.resident_bytes) == ("walk", None, 5 * MIB)
    assert found.policy == "bind:1"
    assert found.policy_bytes == {"bind:1": 14 * 4096 + 4 * MIB, "default": 26 * 4096}
    assert found.read_at == WALL


def test_a_costly_walk_is_withheld_and_says_so() -> None:
    found = only(look(host_of(engine(resident=227 * GIB))))
    assert found.withheld is not None
    assert found.withheld.startswith("a walk would cost 3.4 s, over the budget of 60 ms; pages cannot be sampled")
    assert found.mapped == {}
    assert found.resident_bytes == 227 * GIB + 4 * MIB
    assert found.policy == "bind:1"


@pytest.mark.parametrize(
    ("method", "gib", "walks"),
    [("auto", 4, True), ("auto", 4.1, False), ("walk", 900, True), ("sample", 1, False)],
)
def test_the_rule(method: str, gib: float, walks: bool) -> None:
    assert (reason_not_to_walk(method, int(gib * GIB)) is None) == walks


@pytest.mark.parametrize(
    ("first", "head", "policy"),
    [
        ("00400000-00401000 r-xp 00000000 fe:00 14 /bin/engine", "00400000 default file=/bin/engine N0=1", "default"),
        # 64 bytes end in the middle of a path, and of a node list.
        (
            "00400000-00401000 r-xp 00000000 fe:00 14 /x",
            f"00400000 prefer=static:1 file=/{'x' * 80}",
            "prefer=static:1",
        ),
        ("00400000-00401000 rw-p 00000000 00:00 0", f"00400000 prefer (many):{'0,2,' * 20}4 anon=1", None),
        (
            "00400000-00401000 rw-p 00000000 00:00 0",
            "00400000 weighted interleave:0-3 anon=1",
            "weighted interleave:0-3",
        ),
        # A walk of it would hold the lock, or it has a policy of its own.
        ("200000000-300000000 rw-p 00000000 00:00 0", "200000000 default anon=1", None),
        ("00400000-00401000 rw-s 00000000 00:1e 77 /dev/shm/x", "00400000 bind:0 file=/dev/shm/x N0=1", None),
        ("00400000-00600000 rw-p 00000000 00:0f 1 /anon_hugepage (deleted)", "00400000 bind:0 huge N0=1", None),
        # Between the two readings another mapping became the first.
        ("00400000-00401000 rw-p 00000000 00:00 0", "00300000 bind:0 anon=1", None),
    ],
)
def test_the_leaders_policy_from_one_small_read(first: str, head: str, policy: str | None) -> None:
    files = engine(resident=100 * GIB, maps=first + "\n", numa_maps=head + "\n" + "broken beyond the head\n" * 9)
    assert only(look(host_of(files))).policy == policy


def test_an_old_kernel_without_page_sizes() -> None:
    old = NUMA_MAPS.replace(" kernelpagesize_kB=4\n", "\n").replace(" kernelpagesize_kB=2048\n", "\n")
    host = host_of(engine(numa_maps=old))
    nodes = replace(topology(), huge_page_bytes=2 * MIB)
    found = only(MemoryReader(every_look=True).read(host, sample(host, topology=nodes, processes=processes_of([42]))))
    assert found.mapped["hugetlb"] == {1: 4 * MIB}
    assert found.mapped["anon"] == {0: 4 * 4096, 1: 9 * 4096}


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"numa_maps": ""}, "gone"),  # exec in the middle, or exiting
        ({"numa_maps": NUMA_MAPS[: NUMA_MAPS.index("7ff4")]}, "gone"),  # exec in the middle: the old file ends early
        ({"maps": "", "numa_maps": ""}, "gone"),
        ({"status": "Name:\tengine\n"}, "gone"),  # a zombie
        ({"status": GONE}, "gone"),
        ({"maps": GONE}, "gone"),
        ({"numa_maps": DENIED}, "denied"),
        ({"maps": DENIED}, "denied"),
        ({"numa_maps": NUMA_MAPS.replace("anon=10", "anon=ten")}, "garbled"),
    ],
)
def test_each_way_to_fail(changes: dict[str, Any], word: str) -> None:
    outcome = look(host_of(engine(**changes)))
    assert outcome.counts == {word: 1}
    assert outcome.value is not None
    if word == "gone":
        assert (outcome.value.by_process, outcome.failure) == ({}, None)
    else:
        assert outcome.failure is not None and outcome.failure.word == word
        assert only(outcome).mapped == {} and only(outcome).withheld is not None


def test_a_refusal_names_the_capability() -> None:
    failure = look(host_of(engine(maps=DENIED))).failure
    assert failure is not None and "CAP_SYS_PTRACE" in failure.detail


def test_a_kernel_without_numa_is_not_a_process_that_left() -> None:
    missing = type(GONE)(word="gone", detail="No such file or directory")
    outcome = look(host_of(engine(numa_maps=missing)))
    assert outcome.failure is not None
    assert outcome.failure.word == "absent" and "CONFIG_NUMA" in outcome.failure.detail


def test_a_reused_pid_is_not_read() -> None:
    assert nothing(look(host_of(engine(stat=stat(42, start=9000)))))


def test_young_processes_and_ourselves_are_left_alone() -> None:
    assert nothing(look(host_of(engine()), start_time=WALL - 9))
    assert nothing(look(host_of(engine()), own=True))
    assert only(look(host_of(engine()), start_time=WALL - 11)).mapped


class Exec(RecordingHost):
    """A target that executes another program at its first walk: the old numa_maps ends early."""

    walks = 0

    def stream(self, path: str, block: int) -> Iterator[bytes]:
        blocks = super().stream(path, block)
        if path.endswith("numa_maps"):
            self.walks += 1
            if self.walks == 1:
                return iter([next(blocks)[:10]])
        return blocks


def test_an_exec_in_the_middle_is_read_again() -> None:
    host = Exec(host_of(engine()))
    assert only(look(host)).mapped["hugetlb"] == {1: 4 * MIB}
    assert host.walks == 2


class Wedged(RecordingHost):
    """A host on which one process's numa_maps never answers."""

    def __init__(self, host: Host, pid: int, release: threading.Event) -> None:
        super().__init__(host)
        self._wedged = f"/proc/{pid}/numa_maps"
        self._release = release
        self.asked = 0

    def stream(self, path: str, block: int) -> Iterator[bytes]:
        if path == self._wedged:
            self.asked += 1
            self._release.wait()
        yield from super().stream(path, block)


@pytest.fixture
def release() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


def test_a_wedged_victim_does_not_stop_the_others(release: threading.Event) -> None:
    files = host_of(engine(42), engine(43), later=({}, {}))
    host = Wedged(files, 42, release)
    reader = MemoryReader(every_look=True, deadline=0.1)
    live = []
    for _ in range(3):
        outcome = reader.read(host, sample(host, processes=processes_of([42, 43])))
        live.append(outcome)
        files.advance()
        host.begin()
    other = ProcessKey(pid=43, start_ticks=5000)
    for outcome in live:
        assert outcome.failure is not None and outcome.failure.word == "stuck"
        assert outcome.value is not None and outcome.value.by_process[other].mapped
        assert only(outcome).withheld is not None
    assert host.asked == 1

    recording = Recording(nodename="x", simulated=False, exporter="t", frames=tuple(host.frames()), settings={})
    replayed, again = ReplayHost(recording), MemoryReader(every_look=True, deadline=5)
    for outcome in live:
        assert again.read(replayed, sample_of(replayed, [42, 43])) == outcome
        replayed.advance()


def sample_of(host: Host, pids: list[int]) -> Sample:
    return sample(host, processes=processes_of(pids))


class Seeded(RecordingHost):
    """A host with random numbers."""

    def seed(self, label: str) -> int:
        return 1


def test_each_process_has_its_own_rhythm_and_keeps_its_reading_between() -> None:
    frames = host_of(engine(), later=({},) * 8)
    host = Seeded(frames)
    reader = MemoryReader()
    stamps = []
    for _ in range(9):  # 15 s apart
        stamps.append(only(look(host, reader)).read_at - WALL)
        frames.advance()
    assert stamps[0] == 0
    first, *others = (later - earlier for earlier, later in pairwise(stamps) if later != earlier)
    assert first in (15, 30)
    assert set(others) == {30}


def test_a_look_has_a_budget_and_holders_come_first() -> None:
    """Eight processes of 3 GiB predict 45 ms each: three or four a look, all within three looks."""
    pids = list(range(42, 50))
    big = [engine(pid, resident=3 * GIB) for pid in pids]
    frames = host_of(*big, later=({},) * 12)
    host = Seeded(frames)
    reader = MemoryReader()
    reads = []
    for _ in range(13):
        outcome = reader.read(host, sample_of(host, pids))
        assert outcome.value is not None
        now = host.now("test").wall
        reads.append(sum(found.read_at == now for found in outcome.value.by_process.values()))
        frames.advance()
    assert reads[0] == 8  # nothing is known of them yet
    assert max(reads[1:]) <= 4
    assert sum(reads[1:]) >= 24


def test_without_processes_it_waits() -> None:
    host = fake_host({})
    with pytest.raises(HostError) as caught:
        MemoryReader().read(host, sample(host))
    assert caught.value.word == "absent"
