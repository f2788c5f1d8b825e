"""Processes: who holds a GPU, and who shares a container or pod with them (/proc/PID/{stat,cgroup,cpuset,fd}).

One pass over /proc reads every stat, which names the process: PID and start time. What changes seldom is kept under
that name: the cgroup is read again for GPU processes at each look and for the others in rotation.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from numa_exporter.formats import proc_cgroup, proc_status, task_stat, workload_path
from numa_exporter.formats.parse_error import ParseError
from numa_exporter.formats.task_stat import TaskStat
from numa_exporter.formats.workload_path import WorkloadPath
from numa_exporter.model.gpus import Gpus
from numa_exporter.model.health import Failure
from numa_exporter.model.ids import ProcessKey
from numa_exporter.model.processes import GpuEvidence, Process, Processes
from numa_exporter.model.sample import Sample
from numa_exporter.model.thresholds import Settings
from numa_exporter.sources import cgroup_tree, gpu_evidence
from numa_exporter.sources.cgroup_tree import CgroupTree, Located
from numa_exporter.sources.guard import Guard
from numa_exporter.sources.host import Host, HostError
from numa_exporter.sources.open_devices import DESCRIPTORS_A_LOOK, DescriptorScan
from numa_exporter.sources.source import Failures, Outcome

REREAD_LOOKS = 8
"""A process that holds no GPU is asked for its cgroup again after this many looks: few ever move."""
SCAN_DEADLINE = 2.0
HOST_PID_NAMESPACE = "pid:[4026531836]"
"""include/uapi/linux/nsfs.h: PID_NS_INIT_INO, the same on every kernel."""


@dataclass(slots=True, kw_only=True)
class _Known:
    """A live user process. ``group`` is what its container is told from others by."""

    key: ProcessKey
    stat: TaskStat
    workload: WorkloadPath | None = None
    container: str | None = None
    error: HostError | ParseError | None = None

    @property
    def group(self) -> str | None:
        if self.workload is None or self.workload.directory == "/":
            return None  # the root cgroup is nobody's container
        return self.container or self.workload.directory


@dataclass(slots=True)
class _Holders:
    """GPU evidence by PID, and the GPU PIDs that lead to no process."""

    evidence: dict[int, tuple[GpuEvidence, ...]] = field(default_factory=dict)
    lost: set[int] = field(default_factory=set)


class ProcessesReader:
    """Reader of ``Sample.processes``. ``descriptors`` is how many open files a look may ask about; None asks all."""

    def __init__(self, descriptors: int | None = DESCRIPTORS_A_LOOK) -> None:
        self._scan = DescriptorScan(Guard(SCAN_DEADLINE), descriptors)
        self._known: dict[int, _Known] = {}
        self._look = 0
        self._tree = CgroupTree(())

    def read(self, host: Host, sample: Sample) -> Outcome[Processes]:
        self._look += 1
        failures = Failures()
        now = host.now("processes.look")
        own = task_stat.parse(host.read("/proc/self/stat"), "/proc/self/stat").pid
        self._tree = cgroup_tree.refreshed(host, self._tree)
        self._known = self._pass(host, failures)
        gpus = sample.gpus or Gpus(gpus=())
        times = _Times.of(sample)
        holders = self._holders(host, gpus, times)
        self._read_cgroups(host, holders, failures)
        processes = [
            self._process(host, known, holders.evidence.get(known.key.pid, ()), times, own)
            for known in self._concerned(holders.evidence, nvml=gpus.nvml)
        ]
        nameless = sum(process.cgroup is None for process in processes if process.evidence)
        denied = sum(_denied(self._known[pid]) for pid in holders.evidence)
        value = Processes(
            processes=tuple(processes),
            unattributed=len(holders.lost) + nameless - denied,
            denied=denied,
            read_monotonic=now.monotonic,
        )
        failure = _hidden(host, holders.lost) or failures.worst("denied", "garbled") or self._scan_failure(failures)
        return Outcome(value=value, failure=failure, counts=failures.counts)

    def _pass(self, host: Host, failures: Failures) -> dict[int, _Known]:
        """Every live process but the kernel's own, with what was known of it before."""
        found = {}
        for pid in (int(name) for name in host.list("/proc") if name.isdigit()):
            path = f"/proc/{pid}/stat"
            try:
                stat = task_stat.parse(host.read(path), path)
            except (HostError, ParseError) as error:
                failures.add(error)
                continue
            # A process whose main thread has ended shows as a zombie while its other threads run on.
            if stat.kernel_thread or (stat.state in "ZX" and stat.threads <= 1):
                continue
            key = ProcessKey(pid=pid, start_ticks=stat.start_ticks)
            known = self._known.get(pid)
            if known is None or known.key != key:
                known = _Known(key=key, stat=stat)
            known.stat = stat
            found[pid] = known
        return found

    def _holders(self, host: Host, gpus: Gpus, times: "_Times") -> _Holders:
        """Whom the drivers name, and who has their devices open."""
        self._scan.scan(host, [known.key for known in self._known.values()])
        holders = _Holders()
        contexts = gpu_evidence.of_contexts(gpus)
        for pid in list(contexts):
            known = self._known.get(pid)
            started = None if known is None else times.start(known.key)
            if known is None or (started is not None and gpus.contexts_at and started > gpus.contexts_at):
                del contexts[pid]  # ended since, its PID perhaps given to somebody else
                holders.lost.add(pid)
        for pid, known in self._known.items():
            opened = gpu_evidence.of_devices(self._scan.of(known.key), gpus)
            if pid in contexts or opened:
                holders.evidence[pid] = gpu_evidence.strongest([*contexts.get(pid, ()), *opened])
        return holders

    def _read_cgroups(self, host: Host, holders: _Holders, failures: Failures) -> None:
        """Reads who is new, who holds a GPU, and whose turn it is; a failed reading is tried again at each look."""
        for pid, known in list(self._known.items()):
            turn = (pid + self._look) % REREAD_LOOKS == 0
            if known.workload is not None and pid not in holders.evidence and not turn:
                continue
            try:
                self._read_cgroup(host, known)
            except (HostError, ParseError) as error:
                failures.add(error)
                known.workload, known.container, known.error = None, None, error
                if isinstance(error, HostError) and error.word == "gone":
                    del self._known[pid]
                    if holders.evidence.pop(pid, None):
                        holders.lost.add(pid)

    def _read_cgroup(self, host: Host, known: _Known) -> None:
        path = f"/proc/{known.key.pid}/cgroup"
        memberships = proc_cgroup.parse(host.read(path), path)
        if host.started(known.key.pid, "processes") != known.key.start_ticks:
            raise HostError("gone", path, "the PID was given to another process")
        located = self._tree.locate(host, memberships)
        workload = workload_path.classify([line.membership for line in located]) if located else None
        known.workload, known.error = workload, None
        known.container = None if workload is None else _container_directory(located, workload)

    def _concerned(self, holders: Mapping[int, Sequence[GpuEvidence]], *, nvml: bool) -> list[_Known]:
        """Holders, and the processes of the containers and pods in which one computes."""
        computing = [self._known[pid] for pid, found in holders.items() if gpu_evidence.computes(found, nvml=nvml)]
        groups = {known.group for known in computing} - {None}
        pods = {known.workload.pod_uid for known in computing if known.workload} - {None}
        return [
            known
            for pid, known in sorted(self._known.items())
            if pid in holders or known.group in groups or (known.workload and known.workload.pod_uid in pods)
        ]

    def _process(
        self, host: Host, known: _Known, evidence: tuple[GpuEvidence, ...], times: "_Times", own: int
    ) -> Process:
        stat = known.stat
        return Process(
            key=known.key,
            ppid=stat.ppid,
            comm=stat.comm.decode("utf-8", "backslashreplace"),
            cgroup=known.workload,
            container_cgroup=known.container,
            cpuset_cgroup=self._cpuset_directory(host, known.key.pid),
            threads=stat.threads,
            cpu_seconds=stat.cpu_ticks / times.hz,
            start_time=times.start(known.key),
            evidence=evidence,
            own=known.key.pid == own,
        )

    def _cpuset_directory(self, host: Host, pid: int) -> str | None:
        """The nearest ancestor that has a cpuset: a container's own directory often has none of its files."""
        hierarchy = self._tree.controller("cpuset")
        try:
            text = host.read(f"/proc/{pid}/cpuset").decode("utf-8", "surrogateescape")
        except HostError:
            return None
        path = text.rstrip("\n").removesuffix(" (deleted)")
        absolute = self._tree.absolute(host, hierarchy, path) if hierarchy and path.startswith("/") else None
        return cgroup_tree.directory(hierarchy, absolute) if hierarchy and absolute else None

    def _scan_failure(self, failures: Failures) -> Failure | None:
        if self._scan.error is None:
            return None
        failures.add(self._scan.error)
        return self._scan.error.failure()


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
        return None if self.boot_time is None else self.boot_time + key.start_ticks / self.hz


def _container_directory(located: Sequence[Located], workload: WorkloadPath) -> str | None:
    """The workload's own directory: in the memory controller's hierarchy, else in v2, else where it is."""

    def preference(line: Located) -> int:
        return 0 if "memory" in line.membership.controllers else 1 if not line.membership.controllers else 2

    for line in sorted(located, key=preference):
        path = line.membership.path
        if line.hierarchy and (path == workload.directory or path.startswith(workload.directory.rstrip("/") + "/")):
            return cgroup_tree.directory(line.hierarchy, workload.directory)
    return None


def _denied(known: _Known) -> bool:
    return isinstance(known.error, HostError) and known.error.word == "denied"


def _hidden(host: Host, lost: set[int]) -> Failure | None:
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
    listed = ", ".join(str(pid) for pid in sorted(lost)[:3])
    return Failure(
        word="denied",
        path=f"/proc/{min(lost)}",
        detail=f"the driver names PID {listed}, not visible from this PID namespace: run with hostPID",
    )


def make(settings: Settings) -> ProcessesReader:
    """The reader for a run; a report takes few looks, so each of them asks about every descriptor."""
    return ProcessesReader(None if settings.every_look else DESCRIPTORS_A_LOOK)
