"""Threads: which CPUs each may use and on which node its CPU time went (/proc/PID/task, sched_getaffinity).

Affinity comes first: a microsecond a thread against fourteen for stat and schedstat. A process whose masks all lie
in one node is not read any further. The threads of the others are read up to a budget a look, in rotation; the time
of one that had to wait is credited when its turn comes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from numa_exporter.formats import cpumask, schedstat, task_stat
from numa_exporter.formats.parse_error import ParseError
from numa_exporter.model.ids import ProcessKey
from numa_exporter.model.machine import Topology
from numa_exporter.model.processes import Process, ProcessThreads, Threads
from numa_exporter.model.sample import Sample
from numa_exporter.model.thresholds import Settings
from numa_exporter.sources.host import Host, HostError
from numa_exporter.sources.identity import same_process
from numa_exporter.sources.source import Failures, Outcome
from numa_exporter.sources.thread_clock import Mask, ProcessClock, Reading, nodes_of

THREADS_A_LOOK = 4_000
"""About 60 ms of CPU time (14 us a thread for stat and schedstat)."""

MASKS = 1_024
"""How many masks are remembered. A node has a handful; a container may set others without end, and each takes up to
32 KiB (a set of 512 CPUs)."""


class ThreadsReader:
    """Reader of ``Sample.threads``. ``budget`` is how many threads a look may read; None reads all."""

    def __init__(self, busy_cores: float, budget: int | None = THREADS_A_LOOK) -> None:
        self._busy_cores = busy_cores
        self._budget = budget
        self._look = 0
        self._tracked: dict[ProcessKey, _Tracked] = {}
        self._nodes = _Nodes({})

    def read(self, host: Host, sample: Sample) -> Outcome[Threads]:
        if sample.topology is None or sample.processes is None:
            missing = "topology" if sample.topology is None else "processes"
            raise HostError("absent", "/proc", f"waits for the source {missing}")
        self._look += 1
        self._nodes = self._nodes.of(sample.topology)
        at = host.now("threads.look").monotonic
        processes = {process.key: process for process in sample.processes.processes if not process.own}
        self._tracked = {key: tracked for key, tracked in self._tracked.items() if key in processes}
        failures = Failures()
        masks = self._masks(host, processes, failures)
        readings = self._readings(host, masks, sample.topology.clock_ticks, failures)
        by_process: dict[ProcessKey, ProcessThreads] = {}
        for key, of_threads in masks.items():
            total, total_at = processes[key].cpu_seconds, sample.processes.read_monotonic
            by_process[key] = self._tracked[key].clock.look(at, of_threads, readings[key], total, total_at)
        failure = failures.worst("garbled", "denied")
        return Outcome(value=Threads(by_process=by_process), failure=failure, counts=failures.counts)

    def _masks(
        self, host: Host, processes: Mapping[ProcessKey, Process], failures: Failures
    ) -> dict[ProcessKey, dict[int, Mask]]:
        """The masks of all threads of each process that is still there."""
        found = {}
        for key in processes:
            try:
                with same_process(host, key, "threads"):
                    masks = self._masks_of(host, key.pid)
            except (HostError, ParseError) as error:
                failures.add(error)
                continue
            if masks:
                found[key] = masks
                if key not in self._tracked:
                    self._tracked[key] = _Tracked(ProcessClock(key.pid, self._busy_cores))
        return found

    def _masks_of(self, host: Host, pid: int) -> dict[int, Mask]:
        masks = {}
        for name in host.list(f"/proc/{pid}/task"):
            try:
                masks[int(name)] = self._nodes.mask(host.affinity(int(name)))
            except HostError as error:
                if error.word != "gone":
                    raise
        return masks

    def _readings(
        self, host: Host, masks: Mapping[ProcessKey, Mapping[int, Mask]], hz: int, failures: Failures
    ) -> dict[ProcessKey, dict[int, Reading]]:
        """Threads of the processes that span nodes: those never read first, then those that waited longest, the
        smaller ones first among equals."""
        left = self._budget
        readings: dict[ProcessKey, dict[int, Reading]] = {key: {} for key in masks}
        spanning = [key for key, of_threads in masks.items() if len(nodes_of(of_threads)) > 1]
        for key in sorted(spanning, key=lambda key: (self._tracked[key].turn, len(masks[key]), key)):
            tracked, found = self._tracked[key], readings[key]
            turn = tracked.rotation(sorted(masks[key]), left)
            for tid in turn:
                try:
                    found[tid] = self._reading(host, key.pid, tid, hz, tracked.clock.last(tid))
                except (HostError, ParseError) as error:
                    failures.add(error)
            if turn:
                tracked.turn, tracked.last = self._look, turn[-1]
            left = None if left is None else left - len(turn)
        return readings

    def _reading(self, host: Host, pid: int, tid: int, hz: int, last: Reading | None) -> Reading:
        path = f"/proc/{pid}/task/{tid}/schedstat"
        try:
            said = host.read(path, single=True)
        except HostError:
            said = None  # a kernel without CONFIG_SCHED_INFO: ticks are coarser, but they add up
        if said is not None and last is not None and last.said == said:
            return last  # it did not run, so it is where it was: most threads sleep, and need no stat
        seconds = None if said is None else schedstat.parse(said, path).run_ns / 1e9
        path = f"/proc/{pid}/task/{tid}/stat"
        stat = task_stat.parse(host.read(path, single=True), path)
        return Reading(
            start_ticks=stat.start_ticks,
            seconds=stat.cpu_ticks / hz if seconds is None else seconds,
            said=said,
            node=None if stat.processor is None else self._nodes.of_cpu.get(stat.processor),
        )


@dataclass(slots=True)
class _Tracked:
    """A process's clock and its place in the rotation: the look of its last turn, the last thread read in it."""

    clock: ProcessClock
    turn: int = -1
    last: int = -1

    def rotation(self, tids: Sequence[int], count: int | None) -> Sequence[int]:
        """The next ``count`` threads behind the last one read, wrapping around."""
        start = next((at for at, tid in enumerate(tids) if tid > self.last), 0)
        ahead = [*tids[start:], *tids[:start]]
        return ahead if count is None else ahead[:count]


class _Nodes:
    """CPU to node, and a cache of masks: threads by the thousand share a handful."""

    def __init__(self, of_cpu: Mapping[int, int]) -> None:
        self.of_cpu = of_cpu
        self._masks: dict[bytes, Mask] = {}

    def of(self, topology: Topology) -> "_Nodes":
        of_cpu = {cpu: node.id for node in topology.nodes for cpu in node.cpus}
        return self if of_cpu == self.of_cpu else _Nodes(of_cpu)

    def mask(self, raw: bytes) -> Mask:
        known = self._masks.get(raw)
        if known is None:
            if len(self._masks) >= MASKS:
                self._masks.clear()
            cpus = cpumask.from_bytes(raw)
            known = self._masks[raw] = Mask(cpus=cpus, nodes=frozenset(self.of_cpu.get(cpu) for cpu in cpus))
        return known


def make(settings: Settings) -> ThreadsReader:
    """The reader for a run; a report takes few looks, so each of them reads every thread."""
    budget = None if settings.every_look else THREADS_A_LOOK
    return ThreadsReader(settings.thresholds.escaped_thread_cores, budget)
