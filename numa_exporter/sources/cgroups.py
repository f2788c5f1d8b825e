"""What the cgroup of each GPU container says: cpuset, charged memory by node, exact CPU time by CPU on v1.

Costs no page walk and no capability. Charged is by first touch: a page stays with the cgroup that touched it first.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, TypeVar

from numa_exporter.formats import cgroup_numa_stat, cpuacct, cpuset, idlist, proc_cgroup
from numa_exporter.formats.cgroup_numa_stat import LruBytes
from numa_exporter.formats.parse_error import ParseError
from numa_exporter.formats.workload_path import WorkloadPath
from numa_exporter.model.ids import CpuSet
from numa_exporter.model.processes import Cgroup, Cgroups, Process
from numa_exporter.model.sample import Sample
from numa_exporter.sources import cgroup_tree
from numa_exporter.sources.cgroup_tree import CgroupTree, Located
from numa_exporter.sources.host import Host, HostError
from numa_exporter.sources.source import Failures, Outcome

T = TypeVar("T")
NodeBytes = Mapping[int, int]
_Asked = tuple[bytes, CgroupTree, WorkloadPath | None, str | None]
"""What the places of a container are told from: the text of /proc/PID/cgroup, the mounts, what its process is."""
POSSIBLE_CPUS = "/sys/devices/system/cpu/possible"


class CgroupsReader:
    """Reader of ``Sample.cgroups``: one entry for each container of ``Sample.processes``."""

    def __init__(self) -> None:
        self._tree = CgroupTree(())
        self._known: dict[str, tuple[_Asked, _Places]] = {}

    def read(self, host: Host, sample: Sample) -> Outcome[Cgroups]:
        self._tree = cgroup_tree.refreshed(host, self._tree)
        failures = Failures()
        page_bytes = sample.topology.page_bytes if sample.topology else 4096
        by_path: dict[str, Cgroup] = {}
        leaders = _leaders(sample)
        self._known = {path: known for path, known in self._known.items() if path in leaders}
        look = _Look(host, failures)
        for path, process in leaders.items():
            places = self._places(host, path, process, failures)
            by_path[path] = look.cgroup(path, places, page_bytes)
        value = Cgroups(by_path=by_path, layout=self._tree.layout)
        return Outcome(value=value, failure=failures.worst("garbled", "denied"), counts=failures.counts)

    def _places(self, host: Host, container: str, process: Process, failures: Failures) -> "_Places":
        """The container's directory in each hierarchy. One process of it names them all: on v1 they may differ."""
        memory, cpuset = self._tree.controller("memory"), self._tree.controller("cpuset")
        places = _Places(
            memory=container,
            version=memory.version if memory else 2,
            cpuset=process.cpuset_cgroup,
            cpuset_version=cpuset.version if cpuset else 2,
        )
        if self._tree.layout == "v2":
            return places
        path = f"/proc/{process.key.pid}/cgroup"
        try:
            data = host.read(path)
            asked = data, self._tree, process.cgroup, process.cpuset_cgroup
            if container not in self._known or self._known[container][0] != asked:
                located = self._tree.locate(host, proc_cgroup.parse(data, path))
                self._known[container] = asked, _located_places(process, located, places)
        except (HostError, ParseError) as error:
            failures.add(error)
            return places
        return self._known[container][1]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Places:
    """Directories by controller. ``hugetlb`` None = beside memory's files; ``version`` is the memory controller's."""

    memory: str | None
    version: Literal[1, 2]
    cpuset: str | None
    cpuset_version: Literal[1, 2]
    hugetlb: str | None = None
    cpuacct: str | None = None


def _located_places(process: Process, located: Sequence[Located], places: _Places) -> _Places:
    own = process.cgroup.directory if process.cgroup else "/"
    found: dict[str, str | None] = {}
    for line in located:
        if line.hierarchy is None:
            continue
        # The container's own directory, not that of a cgroup made inside it; where this hierarchy groups
        # processes in another way, the process's own.
        inside = (line.membership.path + "/").startswith(own.rstrip("/") + "/")
        directory = cgroup_tree.directory(line.hierarchy, own if inside else line.membership.path)
        found |= dict.fromkeys(line.membership.controllers or ("",), directory)
    unified = found.get("")
    return replace(
        places,
        memory=found.get("memory", unified),
        hugetlb=found.get("hugetlb", unified),
        cpuacct=found.get("cpuacct"),
    )


class _Look:
    """The files of the containers; each fails alone."""

    def __init__(self, host: Host, failures: Failures) -> None:
        self._host = host
        self._failures = failures

    @cached_property
    def _possible(self) -> CpuSet | None:
        return self._read(POSSIBLE_CPUS, idlist.parse)

    def cgroup(self, path: str, places: _Places, page_bytes: int) -> Cgroup:
        return Cgroup(
            path=path,
            version=places.version,
            cpus=self._effective(places, "cpus"),
            mems=self._effective(places, "mems"),
            cpuset_directory=places.cpuset,
            charged=self._charged(places, page_bytes),
            cpu_seconds=self._cpu_seconds(places.cpuacct),
        )

    def _read(self, path: str, parse: Callable[[bytes, str], T]) -> T | None:
        """None for a file that is not there: which controllers a cgroup has is the host's choice."""
        try:
            return parse(self._host.read(path), path)
        except (HostError, ParseError) as error:
            if isinstance(error, ParseError) or error.word != "absent":
                self._failures.add(error)
            return None

    def _effective(self, places: _Places, what: Literal["cpus", "mems"]) -> CpuSet | None:
        if places.cpuset is None:
            return None
        name = f"cpuset.{what}.effective" if places.cpuset_version == 2 else f"cpuset.effective_{what}"
        return self._read(f"{places.cpuset}/{name}", cpuset.parse_effective)

    def _charged(self, places: _Places, page_bytes: int) -> Mapping[str, NodeBytes] | None:
        if places.memory is None:
            return None
        path = f"{places.memory}/memory.numa_stat"
        if places.version == 2:
            charged = self._read(path, _charged_v2)
        else:
            charged = self._read(path, lambda data, path: _charged_v1(data, path, page_bytes))
        if charged is not None and "hugetlb" not in charged:
            hugetlb = self._hugetlb(places.hugetlb or places.memory)
            charged = charged if hugetlb is None else {**charged, "hugetlb": hugetlb}
        return charged

    def _hugetlb(self, directory: str) -> NodeBytes | None:
        """All page sizes together; None where the kernel (before 5.17) or the cgroup has no such file."""
        try:
            names = self._host.list(directory)
        except HostError as error:
            if error.word != "absent":
                self._failures.add(error)
            return None
        paths = [f"{directory}/{name}" for name in names if name.startswith("hugetlb.") and name.endswith(".numa_stat")]
        sizes = [self._read(path, cgroup_numa_stat.parse_hugetlb) for path in paths]
        return _sum(size for size in sizes if size is not None) if sizes else None

    def _cpu_seconds(self, directory: str | None) -> Mapping[int, float] | None:
        possible = self._possible if directory else None
        if possible is None:
            return None
        path = f"{directory}/cpuacct.usage_percpu"
        nanoseconds = self._read(path, lambda data, path: cpuacct.parse(data, path, possible))
        return None if nanoseconds is None else {cpu: spent / 1e9 for cpu, spent in nanoseconds.items()}


def _leaders(sample: Sample) -> dict[str, Process]:
    """For each container the process that speaks for it: the one whose cpuset is the outermost, then the oldest."""

    def order(process: Process) -> tuple[int, int]:
        return len(process.cpuset_cgroup or process.container_cgroup or ""), process.key.start_ticks

    leaders: dict[str, Process] = {}
    for process in sample.processes.processes if sample.processes else ():
        path = process.container_cgroup
        if path is not None and (path not in leaders or order(process) < order(leaders[path])):
            leaders[path] = process
    return leaders


def _charged_v2(data: bytes, path: str) -> dict[str, NodeBytes]:
    """The kernel's ``file`` contains ``shmem``; here each byte is in one backing."""
    stat = cgroup_numa_stat.parse_v2(data, path)
    lines = {"anon": stat.anon, "file": stat.file, "shmem": stat.shmem, "hugetlb": stat.hugetlb}
    if stat.file is not None and stat.shmem is not None:
        # Two moments of a moving count: shmem can be ahead.
        lines["file"] = {node: max(0, count - stat.shmem.get(node, 0)) for node, count in stat.file.items()}
    return {backing: nodes for backing, nodes in lines.items() if nodes is not None}


def _charged_v1(data: bytes, path: str, page_bytes: int) -> dict[str, NodeBytes]:
    """v1 counts LRU lists: shared memory is on the anonymous ones, locked pages are on ``unevictable`` alone."""
    stat = cgroup_numa_stat.parse_v1(data, path, page_bytes)
    lists = {
        "anon_and_shmem": _larger(stat, "anon"),
        "file": _larger(stat, "file"),
        "unevictable": _larger(stat, "unevictable"),
    }
    return {backing: nodes for backing, nodes in lists.items() if nodes is not None}


def _larger(stat: cgroup_numa_stat.NumaStatV1, name: Literal["anon", "file", "unevictable"]) -> NodeBytes | None:
    """With the cgroups below it, but never less than the cgroup's own: 5.10 shows 0 for the subtree at times."""

    def of(lists: LruBytes) -> NodeBytes | None:
        return {"anon": lists.anon, "file": lists.file, "unevictable": lists.unevictable}[name]

    own, subtree = of(stat.own), of(stat.hierarchical)
    if own is None or subtree is None:
        return own if subtree is None else subtree
    return {node: max(own.get(node, 0), subtree.get(node, 0)) for node in own.keys() | subtree.keys()}


def _sum(parts: Iterable[NodeBytes]) -> NodeBytes:
    total: dict[int, int] = {}
    for part in parts:
        for node, count in part.items():
            total[node] = total.get(node, 0) + count
    return total
