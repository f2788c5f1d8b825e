"""Processes: who holds a GPU, and who shares a container or pod with them (/proc/PID/{stat,cgroup,cpuset,fd})."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace

from numa_exporter.formats import proc_status, task_stat
from numa_exporter.formats.parse_error import ParseError
from numa_exporter.model.gpus import Gpus
from numa_exporter.model.health import Failure
from numa_exporter.model.ids import ProcessKey
from numa_exporter.model.processes import GpuEvidence, Process, Processes
from numa_exporter.model.sample import Sample
from numa_exporter.model.thresholds import Settings
from numa_exporter.sources import gpu_evidence
from numa_exporter.sources.guard import Guard
from numa_exporter.sources.host import Host, HostError
from numa_exporter.sources.open_devices import DESCRIPTORS_A_LOOK, DescriptorScan
from numa_exporter.sources.process_table import LiveProcess, ProcessTable
from numa_exporter.sources.source import Failures, Outcome

SCAN_DEADLINE = 2.0
BELIEVED_SECONDS = 600.0
"""For how long those whom the drivers named stay listed while the drivers are silent: NVML hangs on a lost GPU, and
the GPUs beside it keep computing. The join keeps their holdings for as long (placement/stuck.py)."""
HOST_PID_NAMESPACE = "pid:[4026531836]"
"""include/uapi/linux/nsfs.h: PID_NS_INIT_INO, the same on every kernel."""

Evidence = dict[int, tuple[GpuEvidence, ...]]
"""By PID."""


class ProcessesReader:
    """Reader of ``Sample.processes``. ``descriptors`` is how many open files a look may ask about; None asks all."""

    def __init__(self, descriptors: int | None = DESCRIPTORS_A_LOOK) -> None:
        self._scan = DescriptorScan(Guard(SCAN_DEADLINE), descriptors)
        self._table = ProcessTable()
        self._gpus = Gpus(gpus=())
        self._computed: dict[ProcessKey, float] = {}

    def read(self, host: Host, sample: Sample) -> Outcome[Processes]:
        failures = Failures()
        now = host.now("processes.look")
        own = task_stat.parse(host.read("/proc/self/stat"), "/proc/self/stat").pid
        gpus = self._gpus = _without_contexts(self._gpus) if sample.gpus is None else sample.gpus
        if not gpus.gpus:  # nobody can hold what is not there
            return Outcome(value=Processes(processes=(), read_monotonic=now.monotonic))
        times = _Times.of(sample)
        self._table.update(host, failures)
        unseen = self._scan.scan(host, [process.key for process in self._table])
        named = gpu_evidence.of_contexts(gpus)
        evidence = self._evidence({pid: of for pid, of in named.items() if self._is_meant(pid, gpus, times)}, gpus)
        self._table.read_cgroups(host, evidence, failures)
        holders = [process for process in self._table if process.key.pid in evidence]
        lost = {pid for pid in named if self._table.get(pid) is None or not self._is_meant(pid, gpus, times)}
        computing = self._computing(evidence, gpus, now.monotonic)
        value = Processes(
            processes=tuple(
                self._process(host, process, evidence.get(process.key.pid, ()), times, own)
                for process in self._concerned(evidence, computing)
            ),
            unattributed=len(lost) + sum(process.workload is None and not process.denied for process in holders),
            denied=sum(process.denied for process in holders),
            read_monotonic=now.monotonic,
        )
        failure = _hidden(host, sorted(lost)) or failures.worst("denied", "garbled")
        for error in unseen:
            failures.add(error)
        # Where every driver lists who computes, descriptors add only who looks on: counted, but no failure of ours.
        if failure is None and _silent(gpus) and self._scan.error is not None:
            failure = self._scan.error.failure()
        return Outcome(value=value, failure=failure, counts=failures.counts)

    def _is_meant(self, pid: int, gpus: Gpus, times: "_Times") -> bool:
        """Whether a PID that a driver named is still that process: one that started after the driver was asked has
        the PID of another that ended."""
        process = self._table.get(pid)
        started = None if process is None else times.start(process.key)
        return process is not None and (started is None or gpus.contexts_at is None or started <= gpus.contexts_at)

    def _evidence(self, named: Mapping[int, list[GpuEvidence]], gpus: Gpus) -> Evidence:
        """Whom the drivers name, and who has their devices open."""
        found: Evidence = {}
        for process in self._table:
            opened = gpu_evidence.of_devices(self._scan.of(process.key), gpus)
            entries = [*named.get(process.key.pid, ()), *opened]
            if entries:
                found[process.key.pid] = gpu_evidence.strongest(entries)
        return found

    def _computing(self, evidence: Evidence, gpus: Gpus, now: float) -> frozenset[ProcessKey]:
        """Who computes; while a driver is silent, also who did so when it last spoke."""
        found = frozenset(
            process.key
            for process in self._table
            if gpu_evidence.computes(evidence.get(process.key.pid, ()), nvml=gpus.nvml)
        )
        before = {key: seen for key, seen in self._computed.items() if now - seen <= BELIEVED_SECONDS}
        self._computed = {**(before if _silent(gpus) else {}), **dict.fromkeys(found, now)}
        return frozenset(self._computed)

    def _concerned(self, evidence: Evidence, computing: Container[ProcessKey]) -> list[LiveProcess]:
        """Holders, and the processes of the containers and pods in which one computes."""
        owners = [process for process in self._table if process.key in computing]
        groups = {process.group for process in owners} - {None}
        pods = {process.workload.pod_uid for process in owners if process.workload} - {None}
        return [
            process
            for process in self._table
            if process.key.pid in evidence
            or process.key in computing
            or process.group in groups
            or (process.workload is not None and process.workload.pod_uid in pods)
        ]

    def _process(
        self, host: Host, process: LiveProcess, evidence: tuple[GpuEvidence, ...], times: "_Times", own: int
    ) -> Process:
        stat = process.stat
        return Process(
            key=process.key,
            ppid=stat.ppid,
            comm=stat.comm.decode("utf-8", "backslashreplace"),
            cgroup=process.workload,
            container_cgroup=process.container,
            cpuset_cgroup=self._table.cpuset_directory(host, process.key.pid),
            threads=stat.threads,
            cpu_seconds=stat.cpu_ticks / times.hz,
            start_time=times.start(process.key),
            evidence=evidence,
            own=process.key.pid == own,
        )


def _silent(gpus: Gpus) -> bool:
    return any(gpu.contexts is None for gpu in gpus.gpus)


def _without_contexts(gpus: Gpus) -> Gpus:
    return replace(gpus, gpus=tuple(replace(gpu, contexts=None) for gpu in gpus.gpus))


@dataclass(frozen=True, slots=True)
class _Times:
    """Ticks to seconds, by the topology's boot time and clock."""

    boot_time: float | None
    hz: int

    @staticmethod
    def of(sample: Sample) -> "_Times":
        topology = sample.topology
        return _Times(topology.boot_time, topology.clock_ticks) if topology else _Times(None, 100)

    def start(self, key: ProcessKey) -> float | None:
        """Wall-clock seconds; up to a second early, for the kernel cuts its boot time to whole seconds."""
        return None if self.boot_time is None else self.boot_time + key.start_ticks / self.hz


def _hidden(host: Host, lost: Sequence[int]) -> Failure | None:
    """Whether GPU processes are lost because /proc is not the host's: drivers name PIDs of the first PID namespace.

    NSpid counts from the namespace of the /proc that is read: one entry and not the first namespace means that
    this /proc is a container's own.
    """
    if not lost:
        return None
    try:
        if host.readlink("/proc/self/ns/pid") == HOST_PID_NAMESPACE:
            return None
        status = proc_status.parse(host.read("/proc/self/status"), "/proc/self/status")
    except (HostError, ParseError):
        return None  # an old bundle, or a kernel without namespaces: the count alone tells
    if status.namespace_pids is not None and len(status.namespace_pids) > 1:
        return None
    named = ", ".join(map(str, lost[:3]))
    return Failure(
        word="denied",
        path=f"/proc/{lost[0]}",
        detail=f"the driver names PID {named}, not visible from this PID namespace: run with hostPID",
    )


def make(settings: Settings) -> ProcessesReader:
    """The reader for a run; a report takes few looks, so each of them asks about every descriptor."""
    return ProcessesReader(None if settings.every_look else DESCRIPTORS_A_LOOK)
