"""The live processes of a host and where they belong: /proc/PID/{stat,cgroup,cpuset}.

One pass over /proc reads every stat, which names the process: PID and start time. What changes seldom is kept under
that name: the cgroup is read again for GPU processes at each look and for the others in rotation.
"""

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass

from numa_exporter.formats import proc_cgroup, task_stat, workload_path
from numa_exporter.formats.parse_error import ParseError
from numa_exporter.formats.task_stat import TaskStat
from numa_exporter.formats.workload_path import WorkloadPath
from numa_exporter.model.ids import ProcessKey
from numa_exporter.sources import cgroup_tree
from numa_exporter.sources.cgroup_tree import CgroupTree, Located
from numa_exporter.sources.host import Host, HostError
from numa_exporter.sources.source import Failures

REREAD_LOOKS = 8
"""A process that holds no GPU is asked for its cgroup again after this many looks: few ever move."""


@dataclass(slots=True, kw_only=True)
class LiveProcess:
    """A user process. ``container`` is its container's own cgroup directory; ``error`` says why it has no workload.

    ``told`` is what the workload was told from: while it stays the same, so does the workload.
    """

    key: ProcessKey
    stat: TaskStat
    workload: WorkloadPath | None = None
    container: str | None = None
    told: tuple[bytes, CgroupTree] | None = None
    error: HostError | ParseError | None = None

    @property
    def group(self) -> str | None:
        """What its container is told from others by; the root cgroup is nobody's container."""
        if self.workload is None or self.workload.directory == "/":
            return None
        return self.container or self.workload.directory

    @property
    def denied(self) -> bool:
        return isinstance(self.error, HostError) and self.error.word == "denied"


class ProcessTable:
    """Every live user process by PID, look by look."""

    def __init__(self) -> None:
        self._look = 0
        self._tree = CgroupTree(())
        self._live: dict[int, LiveProcess] = {}

    def __iter__(self) -> Iterator[LiveProcess]:
        """In the order of their PIDs."""
        return iter([self._live[pid] for pid in sorted(self._live)])

    def get(self, pid: int) -> LiveProcess | None:
        return self._live.get(pid)

    def update(self, host: Host, failures: Failures) -> None:
        """A new look: every live process but the kernel's own, with what was known of it before."""
        self._look += 1
        self._tree = cgroup_tree.refreshed(host, self._tree)
        before, self._live = self._live, {}
        for pid in (int(name) for name in host.list("/proc") if name.isdigit()):
            path = f"/proc/{pid}/stat"
            try:
                stat = task_stat.parse(host.read(path, single=True), path)
            except (HostError, ParseError) as error:
                failures.add(error)
                continue
            # A process whose main thread has ended shows as a zombie while its other threads run on.
            if stat.kernel_thread or (stat.state in "ZX" and stat.threads <= 1):
                continue
            key = ProcessKey(pid=pid, start_ticks=stat.start_ticks)
            known = before.get(pid)
            if known is None or known.key != key:
                known = LiveProcess(key=key, stat=stat)
            known.stat = stat
            self._live[pid] = known

    def read_cgroups(self, host: Host, holders: Container[int], failures: Failures) -> None:
        """Reads who is new, who holds a GPU, and whose turn it is; a failed reading is tried again at each look.
        A process that turns out to be gone leaves the table."""
        for process in self:
            pid = process.key.pid
            turn = (pid + self._look) % REREAD_LOOKS == 0
            if process.workload is not None and pid not in holders and not turn:
                continue
            try:
                self._read_cgroup(host, process)
            except (HostError, ParseError) as error:
                failures.add(error)
                process.workload, process.container, process.told, process.error = None, None, None, error
                if isinstance(error, HostError) and error.word == "gone":
                    del self._live[pid]

    def _read_cgroup(self, host: Host, process: LiveProcess) -> None:
        path = f"/proc/{process.key.pid}/cgroup"
        data = host.read(path)
        # The third part of the sandwich; the first was the stat of this look.
        if host.started(process.key.pid, "processes") != process.key.start_ticks:
            raise HostError("gone", path, "the PID was given to another process")
        if process.told == (data, self._tree):
            return
        located = self._tree.locate(host, proc_cgroup.parse(data, path))
        workload = workload_path.classify([line.membership for line in located]) if located else None
        process.workload, process.told, process.error = workload, (data, self._tree), None
        process.container = None if workload is None else _container_directory(located, workload)

    def cpuset_directory(self, host: Host, pid: int) -> str | None:
        """The nearest ancestor that has a cpuset: a container's own directory often has none of its files."""
        hierarchy = self._tree.controller("cpuset")
        try:
            text = host.read(f"/proc/{pid}/cpuset").decode("utf-8", "surrogateescape")
        except HostError:
            return None
        path = text.rstrip("\n").removesuffix(" (deleted)")
        absolute = self._tree.absolute(host, hierarchy, path) if hierarchy and path.startswith("/") else None
        return cgroup_tree.directory(hierarchy, absolute) if hierarchy and absolute else None


def _container_directory(located: Sequence[Located], workload: WorkloadPath) -> str | None:
    """The workload's own directory: in the memory controller's hierarchy, else in v2, else where it is. None for the
    root cgroup, whose files speak of the whole machine."""
    if workload.directory == "/":
        return None

    def preference(line: Located) -> int:
        return 0 if "memory" in line.membership.controllers else 1 if not line.membership.controllers else 2

    for line in sorted(located, key=preference):
        inside = (line.membership.path + "/").startswith(workload.directory.rstrip("/") + "/")
        if line.hierarchy and inside:
            return cgroup_tree.directory(line.hierarchy, workload.directory)
    return None
