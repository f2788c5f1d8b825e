"""This very machine: real processes, memory, threads and cgroups against tools that we did not write."""

import ctypes
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from numa_exporter.formats import task_stat
from numa_exporter.model.gpus import Gpus
from numa_exporter.model.ids import ProcessKey
from numa_exporter.model.machine import NumaNode, Topology
from numa_exporter.model.processes import Cgroup, Memory, Process, ProcessThreads
from numa_exporter.model.recording import Recording
from numa_exporter.model.sample import Sample
from numa_exporter.sources.cgroups import CgroupsReader
from numa_exporter.sources.host import Host
from numa_exporter.sources.live import LiveHost
from numa_exporter.sources.memory import MemoryReader
from numa_exporter.sources.processes import ProcessesReader
from numa_exporter.sources.replay import RecordingHost, ReplayHost
from numa_exporter.sources.roots import Roots
from numa_exporter.sources.source import Outcome
from numa_exporter.sources.threads import ThreadsReader
from numa_exporter.sources.topology import TopologyReader
from tests.sources import proc_tree, victim
from tests.sources.proc_tree import context, sample

MIB = 1 << 20
NeedTool = Callable[[str, str], str]
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
needs_two_cpus = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs")


class Victim:
    """A child process that runs victim.py, in the cgroups of these directories."""

    def __init__(self, *arguments: str, cgroups: Iterable[Path] = ()) -> None:
        joined = ":".join(str(folder / "cgroup.procs") for folder in cgroups)
        self.child = subprocess.Popen(
            [sys.executable, victim.__file__, *arguments],
            text=True,
            env={**os.environ, "VICTIM_CGROUPS": joined},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self.child.stdin is not None and self.child.stdout is not None
        self._stdin, self._stdout = self.child.stdin, self.child.stdout
        self.pid = self.child.pid
        assert self._stdout.readline() == "ready\n"

    def tell(self, command: str) -> list[int]:
        """Its bound threads' ids, once the command is carried out."""
        self.send(command)
        return [int(word) for word in self._stdout.readline().split()]

    def send(self, command: str) -> None:
        self._stdin.write(command + "\n")
        self._stdin.flush()

    def end(self) -> None:
        self.child.kill()
        self.child.communicate()


@pytest.fixture
def start() -> Iterator[Callable[..., Victim]]:
    started: list[Victim] = []

    def run(*arguments: str, cgroups: Iterable[Path] = ()) -> Victim:
        started.append(Victim(*arguments, cgroups=cgroups))
        return started[-1]

    yield run
    for one in started:
        one.end()


@pytest.fixture
def host() -> LiveHost:
    return LiveHost(Roots())


def holding(*pids: int) -> Gpus:
    """Drivers' lists that were read after these processes started. No device node is this GPU's: other tests' processes
    have those of a first GPU open."""
    return proc_tree.gpus(*map(context, pids), at=None, minor=None)


def seen(host: Host, *pids: int) -> Sample:
    """A sample of this host in which these processes hold a GPU."""
    first = sample(host)
    topology = TopologyReader().read(host, first).value
    looked = replace(first, topology=topology, gpus=holding(*pids))
    return replace(looked, processes=ProcessesReader(None).read(host, looked).value)


def process(found: Sample, pid: int) -> Process:
    assert found.processes is not None
    return next(one for one in found.processes.processes if one.key.pid == pid)


def memory_of(host: Host, made: Sample, pid: int) -> Outcome[Memory]:
    assert made.processes is not None
    alone = replace(made.processes, processes=(replace(process(made, pid), start_time=None),))
    return MemoryReader(every_look=True).read(host, replace(made, processes=alone))


def test_identity_and_times_are_psutils(host: LiveHost, start: Callable[..., Victim]) -> None:
    one = start()
    found, oracle = process(seen(host, one.pid), one.pid), psutil.Process(one.pid)
    assert found.start_time == pytest.approx(oracle.create_time(), abs=1.5)  # btime has whole seconds
    assert (found.comm, found.ppid, found.threads) == (oracle.name(), os.getpid(), oracle.num_threads())
    assert found.cpu_seconds == pytest.approx(sum(oracle.cpu_times()[:2]), abs=0.05)
    assert not found.own


def test_mapped_bytes_are_numastats_and_psutils(
    host: LiveHost, start: Callable[..., Victim], need_tool: NeedTool, tmp_path: Path
) -> None:
    numastat = need_tool("numastat", "numactl")
    file = tmp_path / "weights"
    file.write_bytes(bytes(4 * MIB))
    one = start(str(file))
    outcome = memory_of(host, seen(host, one.pid), one.pid)
    assert outcome.value is not None and outcome.failure is None
    (found,) = outcome.value.by_process.values()
    assert found.withheld is None

    total = sum(sum(nodes.values()) for nodes in found.mapped.values())
    answer = subprocess.run([numastat, "-p", str(one.pid)], capture_output=True, text=True, check=True).stdout
    last_line = re.search(r"^Total .*$", answer, re.MULTILINE)
    assert last_line is not None
    assert total / MIB == pytest.approx(float(last_line[0].split()[-1]), abs=0.1)
    assert total == pytest.approx(psutil.Process(one.pid).memory_info().rss, abs=MIB)
    assert found.resident_bytes == pytest.approx(total, abs=MIB)

    sums = {backing: sum(nodes.values()) for backing, nodes in found.mapped.items()}
    assert sums["shmem_anon"] == victim.SHARED
    assert sums["shmem"] == victim.NAMED
    assert sums["file"] >= 4 * MIB
    assert victim.ANON + victim.HUGE <= sums["anon"] < victim.ANON + victim.HUGE + 64 * MIB
    assert [sum(nodes.values()) for nodes in found.segments.values()] == [victim.NAMED]
    assert found.policy == "default"
    assert host.lock_hold_seconds > 0


def split_topology() -> tuple[Topology, list[int]]:
    """The first two of our CPUs as two nodes, whatever the machine has."""
    first, second = sorted(os.sched_getaffinity(0))[:2]
    nodes = tuple(NumaNode(id=node, cpus=frozenset({cpu})) for node, cpu in ((0, first), (1, second)))
    return Topology(nodes=nodes, online_cpus=frozenset({first, second})), [first, second]


def threads_of(reader: ThreadsReader, host: Host, pid: int, topology: Topology) -> ProcessThreads:
    made = replace(seen(host, pid), topology=topology)
    assert made.processes is not None
    alone = replace(made.processes, processes=(process(made, pid),))
    outcome = reader.read(host, replace(made, processes=alone))
    assert outcome.value is not None and outcome.failure is None
    (found,) = outcome.value.by_process.values()
    return found


@needs_two_cpus
def test_masks_are_tasksets_and_cpu_time_goes_to_the_node_it_was_used_on(
    host: LiveHost, start: Callable[..., Victim], need_tool: NeedTool
) -> None:
    taskset = need_tool("taskset", "util-linux")
    topology, cpus = split_topology()
    one = start()
    bound = one.tell(f"threads {cpus[0]} {cpus[1]}")
    reader = ThreadsReader(0.001)
    threads_of(reader, host, one.pid, topology)
    before = {thread.id: thread.user_time + thread.system_time for thread in psutil.Process(one.pid).threads()}
    one.tell("burn 0.3")
    after = {thread.id: thread.user_time + thread.system_time for thread in psutil.Process(one.pid).threads()}
    found = threads_of(reader, host, one.pid, topology)

    told = {}
    for tid in bound:
        answer = subprocess.run([taskset, "-cp", str(tid)], capture_output=True, text=True, check=True).stdout
        told[int(answer.rpartition(":")[2])] = 1
    by_mask = {group.allowed: group for group in found.groups}
    assert {next(iter(mask)): group.threads for mask, group in by_mask.items() if len(mask) == 1} == told
    main = by_mask[frozenset(os.sched_getaffinity(one.pid))]
    assert main.has_main and not found.exact
    assert (found.threads, found.looked_at) == (3, 3)
    for node, (tid, cpu) in enumerate(zip(bound, cpus, strict=True)):
        used = after[tid] - before[tid]
        group = by_mask[frozenset({cpu})]
        assert group.window_seconds[node] == pytest.approx(used, abs=0.05)
        assert (group.busy, dict(group.ran_on)) == (1, {node: 1})
        assert found.cpu_seconds[node] >= group.window_seconds[node] >= 0.3
    assert found.moved_seconds <= sum(found.cpu_seconds.values()) - 0.6


def test_on_one_node_the_processs_own_time_is_exact(host: LiveHost, start: Callable[..., Victim]) -> None:
    whole = Topology(nodes=(NumaNode(id=3, cpus=frozenset(range(4096))),), online_cpus=frozenset(range(4096)))
    one = start()
    one.tell(f"threads {min(os.sched_getaffinity(0))}")
    reader = ThreadsReader(0.001)
    before = sum(psutil.Process(one.pid).cpu_times()[:2])
    threads_of(reader, host, one.pid, whole)
    one.tell("burn 0.2")
    found = threads_of(reader, host, one.pid, whole)
    assert found.exact
    assert found.cpu_seconds[3] == pytest.approx(sum(psutil.Process(one.pid).cpu_times()[:2]) - before, abs=0.05)


@needs_two_cpus
def test_ten_thousand_threads(host: LiveHost, start: Callable[..., Victim]) -> None:
    topology, _ = split_topology()
    one = start()
    one.tell("many 10000")
    rotating = ThreadsReader(0.01, budget=4000)
    looks = [threads_of(rotating, host, one.pid, topology) for _ in range(2)]
    assert [look.looked_at for look in looks] == [4000, 4000]
    whole = threads_of(ThreadsReader(0.01, budget=None), host, one.pid, topology)
    assert whole.threads == whole.looked_at == psutil.Process(one.pid).num_threads() == 10_001


class Container:
    """A container's cgroups as docker makes them on v1, in every hierarchy that is mounted."""

    def __init__(self) -> None:
        self.id = f"{os.getpid():064x}"
        names = ("memory", "cpuset", "cpuacct", "systemd")
        tops = {name: Path("/sys/fs/cgroup", name) for name in names if Path("/sys/fs/cgroup", name, "tasks").exists()}
        parents = {name: top / f"numa-exporter-test-{os.getpid()}" for name, top in tops.items()}
        self.folders = {name: parent / f"docker-{self.id}.scope" for name, parent in parents.items()}
        for name, folder in self.folders.items():
            for each in (folder.parent, folder):
                each.mkdir()
                if name == "cpuset":  # v1: nothing may enter a cpuset without CPUs and nodes
                    (each / "cpuset.cpus").write_text(str(min(os.sched_getaffinity(0))))
                    (each / "cpuset.mems").write_text("0")

    def remove(self) -> None:
        for folder in self.folders.values():
            for each in (folder, folder.parent):
                if each.exists():
                    each.rmdir()


@pytest.fixture
def container() -> Iterator[Container]:
    if not os.access("/sys/fs/cgroup/memory/tasks", os.W_OK):
        pytest.skip("needs a writable cgroup v1 (v2 is tried in the lab's virtual machines)")
    made = Container()
    yield made
    made.remove()


@needs_root
def test_a_real_container(host: LiveHost, container: Container, start: Callable[..., Victim]) -> None:
    inside = container.folders.values()
    holder, helper, bystander = start(cgroups=inside), start(cgroups=inside), start()
    made = seen(host, holder.pid)
    assert made.processes is not None
    assert {one.key.pid for one in made.processes.processes} == {holder.pid, helper.pid}
    found = process(made, holder.pid)
    assert found.cgroup is not None and found.cgroup.unit == f"docker/{container.id[:12]}"
    assert found.container_cgroup == str(container.folders["memory"])
    assert found.cpuset_cgroup == str(container.folders["cpuset"])

    outcome = CgroupsReader().read(host, made)
    assert outcome.value is not None and outcome.failure is None
    (cgroup,) = outcome.value.by_path.values()
    check_cpuset(cgroup, holder.pid)
    check_charged(cgroup)
    exact = [int(word) for word in (container.folders["cpuacct"] / "cpuacct.usage_percpu").read_text().split()]
    assert cgroup.cpu_seconds is not None
    assert sum(cgroup.cpu_seconds.values()) == pytest.approx(sum(exact) / 1e9, abs=0.1)
    for one in (holder, helper, bystander):
        one.end()


def check_cpuset(cgroup: Cgroup, pid: int) -> None:
    assert cgroup.cpus == frozenset(os.sched_getaffinity(pid)) == frozenset(psutil.Process(pid).cpu_affinity() or ())
    assert cgroup.mems == frozenset({0})


def check_charged(cgroup: Cgroup) -> None:
    """Both victims' anonymous and shared memory, up to the kernel's batching of charges."""
    assert cgroup.version == 1 and cgroup.charged is not None
    charged = sum(cgroup.charged["anon_and_shmem"].values())
    touched = 2 * (victim.ANON + victim.HUGE + victim.SHARED + victim.NAMED)
    assert touched - 2 * MIB <= charged <= touched + 64 * MIB


def test_a_zombie_holds_nothing(host: LiveHost) -> None:
    child = subprocess.Popen(["true"])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    found = seen(host, child.pid).processes
    assert found is not None
    assert (found.processes, found.unattributed) == ((), 1)
    child.wait()


def test_a_kernel_thread_holds_nothing(host: LiveHost) -> None:
    path = "/proc/2/stat"
    if not Path(path).exists() or not task_stat.parse(Path(path).read_bytes(), path).kernel_thread:
        pytest.skip("needs to see a kernel thread (PID 2)")
    found = seen(host, 2).processes
    assert found is not None
    assert (found.processes, found.unattributed) == ((), 1)


class Meddling(RecordingHost):
    """A host on which something happens to the target right after the first block of a file."""

    def __init__(self, host: Host, path: str, happen: Callable[[], None]) -> None:
        super().__init__(host)
        self._path = path
        self._happen: Callable[[], None] | None = happen

    def stream(self, path: str, block: int) -> Iterator[bytes]:
        for part in super().stream(path, block):
            yield part
            if path == self._path and self._happen is not None:
                happen, self._happen = self._happen, None
                happen()


def test_a_process_that_exits_while_it_is_read(host: LiveHost, start: Callable[..., Victim]) -> None:
    one = start()
    made = seen(host, one.pid)
    outcome = memory_of(Meddling(host, f"/proc/{one.pid}/numa_maps", one.end), made, one.pid)
    assert outcome.counts == {"gone": 1} and outcome.failure is None


def test_a_process_that_executes_another_program_while_it_is_read(host: LiveHost, start: Callable[..., Victim]) -> None:
    one = start()
    made = seen(host, one.pid)

    def become_sleep() -> None:
        one.send("exec")
        while Path(f"/proc/{one.pid}/comm").read_text() != "sleep\n":
            os.sched_yield()

    value = memory_of(Meddling(host, f"/proc/{one.pid}/numa_maps", become_sleep), made, one.pid).value
    assert value is not None
    (found,) = value.by_process.values()
    assert found.withheld is None
    assert 0 < sum(sum(nodes.values()) for nodes in found.mapped.values()) < 16 * MIB  # sleep's, not the victim's


def as_nobody(look: Callable[[], tuple[Any, ...]]) -> tuple[Any, ...]:
    """What a function answers in a child process without any rights."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
        ctypes.CDLL(None).prctl(4, 1)  # PR_SET_DUMPABLE: our own /proc/self stays ours
        with os.fdopen(writing, "wb") as pipe:
            pickle.dump(look(), pipe)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer: tuple[Any, ...] = pickle.load(pipe)
    assert os.waitpid(child, 0)[1] == 0
    return answer


@needs_root
def test_an_ordinary_user_sees_all_but_pages_and_descriptors(host: LiveHost, start: Callable[..., Victim]) -> None:
    one = start()
    made = seen(host, one.pid)

    def look() -> tuple[Any, ...]:
        without = replace(made, gpus=proc_tree.gpus(nvml=False))
        unlisted = ProcessesReader(None).read(host, without).failure
        processes = ProcessesReader(None).read(host, made)
        assert processes.failure is None and processes.counts["denied"], "the driver says who computes"
        again = replace(made, processes=processes.value)
        threads = ThreadsReader(0.01).read(host, again)
        memory = memory_of(host, again, one.pid)
        assert processes.value is not None and threads.value is not None
        key = process(again, one.pid).key
        return unlisted, key, threads.failure, threads.value.by_process[key], memory.failure, memory.counts

    unlisted, key, threads, masks, memory, counts = as_nobody(look)
    assert unlisted.word == "denied" and "CAP_DAC_READ_SEARCH" in unlisted.detail
    assert key == process(made, one.pid).key
    assert threads is None
    assert masks.groups[0].allowed == os.sched_getaffinity(one.pid)
    assert memory.word == "denied" and "CAP_SYS_PTRACE" in memory.detail
    assert counts == {"denied": 1}


@needs_two_cpus
def test_a_replay_of_this_machine_says_the_same(host: LiveHost, start: Callable[..., Victim]) -> None:
    topology, cpus = split_topology()
    one = start()
    one.tell(f"threads {cpus[0]} {cpus[1]}")

    def looks(on: Host, step: Callable[[], object]) -> list[tuple[Outcome[Any], ...]]:
        readers = ProcessesReader(None), CgroupsReader(), ThreadsReader(0.01, None), MemoryReader(every_look=True)
        told: list[tuple[Outcome[Any], ...]] = []
        for _ in range(2):
            made = replace(sample(on), topology=topology, gpus=holding(one.pid))
            processes, cgroups, threads, memory = readers
            first = processes.read(on, made)
            made = replace(made, processes=first.value)
            told.append((first, cgroups.read(on, made), threads.read(on, made), memory.read(on, made)))
            if on.mode == "live":
                one.tell("burn 0.05")
            step()
        return told

    recorder = RecordingHost(host)
    live = looks(recorder, recorder.begin)
    recording = Recording(nodename="x", simulated=False, exporter="t", frames=tuple(recorder.frames()), settings={})
    replayed = ReplayHost(recording)
    assert looks(replayed, replayed.advance) == live
    key = ProcessKey(pid=one.pid, start_ticks=host.started(one.pid, "test"))
    threads = live[1][2].value
    assert threads is not None and threads.by_process[key].cpu_seconds
