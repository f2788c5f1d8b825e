"""The sampler on real processes of this very machine, against numa_maps and the kernel's own counters."""

import ctypes
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from numa_exporter.model.processes import MappedMemory, Memory
from numa_exporter.model.recording import Recording
from numa_exporter.model.sample import Sample
from numa_exporter.sources.host import Host, HostError
from numa_exporter.sources.live import LiveHost
from numa_exporter.sources.memory import MemoryReader
from numa_exporter.sources.replay import RecordingHost, ReplayHost
from numa_exporter.sources.roots import Roots
from numa_exporter.sources.source import Outcome
from tests.sources import mapper
from tests.sources.proc_tree import processes_of, sample

MIB = 1 << 20
HUGEPAGES = Path("/proc/sys/vm/nr_hugepages")


class Mapper:
    """A running mapper.py."""

    def __init__(self, *steps: str) -> None:
        self.child = subprocess.Popen(
            [sys.executable, mapper.__file__, *steps], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self.child.stdout is not None
        self.pid = self.child.pid
        self.ready = self.child.stdout.readline() == "ready\n"

    def tell(self, command: str) -> None:
        assert self.child.stdin is not None
        self.child.stdin.write(command + "\n")
        self.child.stdin.flush()

    def end(self) -> None:
        self.child.kill()
        self.child.communicate()


@pytest.fixture
def start() -> Iterator[Callable[..., Mapper]]:
    started: list[Mapper] = []

    def run(*steps: str) -> Mapper:
        started.append(Mapper(*steps))
        assert started[-1].ready
        return started[-1]

    yield run
    for one in started:
        one.end()


@pytest.fixture
def host() -> LiveHost:
    host = LiveHost(Roots())
    try:
        host.page_nodes(0, (0,))
    except HostError as error:
        pytest.skip(f"needs move_pages: {error}")
    return host


@pytest.fixture
def scanning(host: LiveHost) -> LiveHost:
    try:
        with host.page_tables(os.getpid()):
            return host
    except HostError as error:
        pytest.skip(f"needs PAGEMAP_SCAN: {error}")


def of_process(host: Host, pid: int) -> Sample:
    start = host.started(pid, "test")
    return sample(host, processes=processes_of([pid], start=start, start_time=None))


def look(host: Host, pid: int, reader: MemoryReader) -> Outcome[Memory]:
    return reader.read(host, of_process(host, pid))


def read(host: Host, pid: int, method: str = "sample", looks: int = 3) -> MappedMemory:
    reader = MemoryReader(method, every_look=True)
    for _ in range(looks):
        outcome = look(host, pid, reader)
    assert outcome.value is not None and outcome.failure is None
    (found,) = outcome.value.by_process.values()
    return found


def totals(found: MappedMemory) -> dict[str, float]:
    return {backing: sum(nodes.values()) / MIB for backing, nodes in found.mapped.items()}


def test_the_sample_agrees_with_the_walk(host: LiveHost, start: Callable[..., Mapper]) -> None:
    one = start("anon:96", "thp:32", "shmem_anon:24", "memfd:16", "copied:8")
    sampled, walked = read(host, one.pid), read(host, one.pid, "walk")
    assert (sampled.method, sampled.withheld) == ("sample", None)
    assert totals(sampled) == pytest.approx(totals(walked), rel=0.05, abs=1.5)
    assert sampled.resident_bytes == pytest.approx(walked.resident_bytes, rel=0.01)
    assert sampled.segments.keys() == walked.segments.keys()
    assert sampled.policy == walked.policy
    assert sampled.estimates is not None
    for backing, estimate in sampled.estimates.items():
        floor = 40 if backing == "file" else 200
        assert estimate.effective_samples >= min(floor, 0.5 * estimate.resident_bytes / 4096)
        assert sum(estimate.shares.values()) == pytest.approx(1)


def test_written_pages_of_a_private_file_mapping_are_file_as_in_the_walk(
    host: LiveHost, start: Callable[..., Mapper]
) -> None:
    one = start("anon:32", "copied:64")
    assert totals(read(host, one.pid)) == pytest.approx(totals(read(host, one.pid, "walk")), rel=0.06, abs=1.5)


@pytest.mark.parametrize("steps", [("islands:64:100",), ("pages:16:30000",), ("anon:64", "memfd:16", "islands:64:30")])
def test_a_large_reservation_with_little_in_it(
    scanning: LiveHost, start: Callable[..., Mapper], steps: tuple[str, ...]
) -> None:
    one = start(*steps)
    found = read(scanning, one.pid, looks=5)
    assert found.withheld is None
    assert totals(found) == pytest.approx(totals(read(scanning, one.pid, "walk")), rel=0.1, abs=2)


@contextmanager
def hugepages(wanted: int) -> Iterator[None]:
    """So many more huge pages while the block runs."""
    before = HUGEPAGES.read_text() if HUGEPAGES.exists() else "0"
    try:
        HUGEPAGES.write_text(str(int(before) + wanted))
        if int(HUGEPAGES.read_text()) < int(before) + wanted:
            pytest.skip(f"needs {wanted} free huge pages")
        yield
    except PermissionError:
        pytest.skip("needs the right to reserve huge pages")
    finally:
        if os.access(HUGEPAGES, os.W_OK):
            HUGEPAGES.write_text(before)


@pytest.mark.parametrize("step", ["hugetlb:16", "huge_memfd:16"])
def test_huge_pages_are_told_by_their_device(host: LiveHost, start: Callable[..., Mapper], step: str) -> None:
    """The name of a memfd does not say that it is of huge pages."""
    with hugepages(8):
        one = start("anon:16", step)
        found = read(host, one.pid)
        assert found.mapped["hugetlb"] == read(host, one.pid, "walk").mapped["hugetlb"]
        assert sum(found.mapped["hugetlb"].values()) == 16 * MIB
        assert "shmem" not in found.mapped


def test_an_exec_is_followed(host: LiveHost, start: Callable[..., Mapper]) -> None:
    one = start("anon:64")
    reader = MemoryReader("sample", every_look=True)
    look(host, one.pid, reader)
    one.tell("exec")
    # The name is there before the program is loaded; once it sleeps nothing more is mapped.
    while " (sleep) S " not in Path(f"/proc/{one.pid}/stat").read_text():
        pass
    outcome = look(host, one.pid, reader)
    assert outcome.value is not None
    (found,) = outcome.value.by_process.values()
    assert found.withheld is None
    assert found.resident_bytes is not None and found.resident_bytes < 16 * MIB
    walked = totals(read(host, one.pid, "walk"))
    assert sum(totals(found).values()) == pytest.approx(sum(walked.values()), abs=1)


def test_a_zombie_has_gone(host: LiveHost, start: Callable[..., Mapper]) -> None:
    one = start("anon:16")
    reader = MemoryReader("sample", every_look=True)
    look(host, one.pid, reader)
    one.tell("exit")
    while Path(f"/proc/{one.pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
        pass
    outcome = look(host, one.pid, reader)
    assert outcome.value is not None and not outcome.value.by_process
    assert outcome.counts == {"gone": 1}


def test_a_replay_says_the_same(host: LiveHost, start: Callable[..., Mapper]) -> None:
    one = start("anon:32", "islands:64:40", "memfd:8")

    def looks(on: Host, step: Callable[[], object]) -> list[Outcome[Memory]]:
        reader = MemoryReader("sample", every_look=True)
        told = []
        for _ in range(3):
            told.append(look(on, one.pid, reader))
            step()
        return told

    recorder = RecordingHost(host)
    live = looks(recorder, recorder.begin)
    replayed = ReplayHost(
        Recording(nodename="x", simulated=False, exporter="t", frames=tuple(recorder.frames()), settings={})
    )
    assert live[-1].value is not None
    assert all(found.withheld is None for found in live[-1].value.by_process.values())
    assert looks(replayed, replayed.advance) == live


def test_present_pages_are_those_that_were_touched(scanning: LiveHost, start: Callable[..., Mapper]) -> None:
    one = start("pages:4:500")
    with scanning.page_tables(one.pid) as tables:
        area = _largest_mapping(one.pid)
        edges, _ = tables.present(*area)
        assert edges == sorted(edges)
        starts = [page for start, end in zip(edges[0::2], edges[1::2], strict=True) for page in range(start, end, 4096)]
        assert len(starts) == 500
        assert tables.present(*area, 1)[0] == [starts[0], starts[0] + 4096]
        assert tables.present(starts[250], starts[251])[0] == [starts[250], starts[250] + 4096]
    assert all(node >= 0 for node in scanning.page_nodes(one.pid, starts))
    assert scanning.longest_hold(one.pid, "test") > 0
    assert scanning.longest_hold(one.pid, "test") == 0


def _largest_mapping(pid: int) -> tuple[int, int]:
    lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
    spans = [tuple(int(edge, 16) for edge in line.split()[0].split("-")) for line in lines]
    start, end = max(spans, key=lambda span: span[1] - span[0])
    return start, end


def test_the_zero_page_is_not_present(scanning: LiveHost) -> None:
    size = 1 << 21
    address = _anonymous(size)
    ctypes.string_at(address, size)  # read, never written
    ctypes.memset(address + 4096 * 7, 1, 1)
    with scanning.page_tables(os.getpid()) as tables:
        edges, _ = tables.present(address, address + size)
    assert edges == [address + 4096 * 7, address + 4096 * 8]


def _anonymous(size: int) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    address = libc.mmap(None, ctypes.c_size_t(size), 3, 0x22, -1, ctypes.c_long(0))
    libc.madvise(ctypes.c_void_p(address), ctypes.c_size_t(size), 15)  # MADV_NOHUGEPAGE
    return int(address)


def test_the_kernels_own_hugetlbfs_is_in_no_mountinfo(host: LiveHost) -> None:
    devices = host.hugetlbfs_devices()
    if not devices:
        pytest.skip("needs a kernel with hugetlbfs")
    mounted = {line.split()[2] for line in Path("/proc/self/mountinfo").read_text().splitlines()}
    assert not mounted & {f"{major}:{minor}" for major, minor in devices}


def test_how_pages_can_be_sampled_is_known_after_the_first(scanning: LiveHost, start: Callable[..., Mapper]) -> None:
    outcome = look(scanning, start("anon:8").pid, MemoryReader("sample", every_look=True))
    assert outcome.value is not None and outcome.value.sampling is not None
    assert (outcome.value.sampling.means, outcome.value.sampling.obstacle) == ("pagemap_scan", None)
