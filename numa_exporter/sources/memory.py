"""Where the pages of GPU processes and their helpers are. Each process has its own rhythm, budget and deadline.

A walk that would hold its target up for longer than the budget is withheld, and says so: a number is not worth a
slow token. One process that got stuck is left alone; the others go on.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from numa_exporter.formats import proc_status
from numa_exporter.formats.parse_error import ParseError
from numa_exporter.formats.proc_status import Status
from numa_exporter.model.ids import ProcessKey
from numa_exporter.model.processes import MappedMemory, Memory, Process
from numa_exporter.model.sample import Sample
from numa_exporter.model.thresholds import GIB, Settings
from numa_exporter.sources.guard import Guard
from numa_exporter.sources.host import Host, HostError, Instant
from numa_exporter.sources.identity import alive, same_process
from numa_exporter.sources.page_walk import PageSizes, PageWalk
from numa_exporter.sources.source import Failures, Outcome, failure_of

WALK_SECONDS_PER_BYTE = 0.015 / GIB
"""Base pages, the worst case: 12.6 to 14.8 ms a GiB were measured."""
WALK_BUDGET_SECONDS = 0.060
"""4 GiB resident."""
LOOK_BUDGET_SECONDS = 0.150
"""1 % of one CPU at a look every 15 s; who does not fit in waits for the next look."""
PROCESS_INTERVAL = 30.0
YOUNGEST = 10.0
"""Seconds; a younger process is still mapping its libraries."""
READ_DEADLINE = 5.0


@dataclass(slots=True, kw_only=True)
class _Entry:
    """The last reading of one process and when the next is due (monotonic)."""

    value: MappedMemory | None = None
    error: HostError | ParseError | None = None
    due: float = float("-inf")


class MemoryReader:
    """Reader of ``Sample.memory``.

    ``method`` is auto, walk or sample; ``every_look`` reads every process at each look, as a report wants it.
    """

    def __init__(self, method: str = "auto", *, every_look: bool = False, deadline: float = READ_DEADLINE) -> None:
        self._method = method
        self._every_look = every_look
        self._guard = Guard(deadline)
        self._entries: dict[ProcessKey, _Entry] = {}

    def read(self, host: Host, sample: Sample) -> Outcome[Memory]:
        if sample.processes is None:
            raise HostError("absent", "/proc", "waits for the source processes")
        now = host.now("memory.look")
        wanted = {process.key: process for process in sample.processes.processes if _wanted(process, now)}
        self._entries = {key: self._entries.get(key) or _Entry() for key in wanted}
        self._guard.keep(wanted)
        failures = Failures()
        for key in self._turns(wanted, now, host):
            self._read_process(host, wanted[key], self._entries[key], _sizes(sample), now, failures)
        by_process = {key: entry.value for key, entry in self._entries.items() if entry.value is not None}
        standing = Failures()
        for entry in self._entries.values():
            if entry.error is not None:
                standing.add(entry.error)
        failure = standing.worst("garbled", "denied", "stuck", "absent")
        return Outcome(value=Memory(by_process=by_process), failure=failure, counts=failures.counts)

    def _turns(self, wanted: Mapping[ProcessKey, Process], now: Instant, host: Host) -> list[ProcessKey]:
        """Whom this look reads: GPU holders before helpers, those that waited longest first."""
        due = [key for key in wanted if self._every_look or self._entries[key].due <= now.monotonic]
        due.sort(key=lambda key: (not wanted[key].evidence, self._entries[key].due, key))
        if self._every_look:
            return due
        jitter = Random(host.seed("memory"))
        turns: list[ProcessKey] = []
        spent = 0.0
        for key in due:
            known = self._entries[key].value
            spent += _cost(known.resident_bytes or 0) if known and known.withheld is None else 0.0
            if turns and spent > LOOK_BUDGET_SECONDS:
                break
            turns.append(key)
            # Spread out, so that processes that started together are not read together for ever.
            self._entries[key].due = now.monotonic + PROCESS_INTERVAL * jitter.uniform(0.75, 1.25)
        return turns

    def _read_process(
        self, host: Host, process: Process, entry: _Entry, sizes: PageSizes, now: Instant, failures: Failures
    ) -> None:
        entry.error = None
        try:
            with same_process(host, process.key, "memory"):
                entry.value = self._measure(host, process.key, sizes, now)
        except (HostError, ParseError) as error:
            error = _explain(host, process.key, error)
            failures.add(error)
            entry.error = error
            entry.value = None if failure_of(error).word == "gone" else _withheld(str(error), now)

    def _measure(self, host: Host, key: ProcessKey, sizes: PageSizes, now: Instant) -> MappedMemory:
        path = f"/proc/{key.pid}/status"
        status = proc_status.parse(host.read(path), path)
        if status.resident_bytes is None:
            raise HostError("gone", path, "no address space: the process is exiting")
        walk = PageWalk(host, self._guard, key)
        reason = reason_not_to_walk(self._method, status.resident_bytes)
        if reason is not None:
            return _withheld(reason, now, resident_bytes=_resident(status), policy=walk.policy())
        seen = walk.walk(status.resident_bytes, sizes)
        return MappedMemory(
            method="walk",
            mapped=seen.numa_maps.by_backing,
            resident_bytes=_resident(status),
            segments=seen.numa_maps.by_segment,
            policy=seen.policy,
            policy_bytes={word: sum(nodes.values()) for word, nodes in seen.numa_maps.by_policy.items()},
            read_at=now.wall,
        )


def reason_not_to_walk(method: str, resident_bytes: int) -> str | None:
    """Why a process is not walked in full; None if it is. A person may ask for the walk whatever it costs."""
    cost = _cost(resident_bytes)
    if method == "sample":
        return "only sampling is allowed, and this version cannot sample"
    if method == "walk" or cost <= WALK_BUDGET_SECONDS:
        return None
    return f"predicted cost {_duration(cost)} over the budget of {_duration(WALK_BUDGET_SECONDS)}"


def _cost(resident_bytes: int) -> float:
    return resident_bytes * WALK_SECONDS_PER_BYTE


def _duration(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{1000 * seconds:.0f} ms"


def _wanted(process: Process, now: Instant) -> bool:
    old = process.start_time is None or now.wall - process.start_time >= YOUNGEST
    return old and not process.own


def _resident(status: Status) -> int:
    return (status.resident_bytes or 0) + (status.hugetlb_bytes or 0)


def _withheld(reason: str, now: Instant, resident_bytes: int | None = None, policy: str | None = None) -> MappedMemory:
    return MappedMemory(
        method="walk",
        mapped={},
        resident_bytes=resident_bytes,
        policy=policy,
        withheld=reason,
        read_at=now.wall,
    )


def _sizes(sample: Sample) -> PageSizes:
    if sample.topology is None:
        return PageSizes()
    return PageSizes(base=sample.topology.page_bytes, huge=sample.topology.huge_page_bytes)


def _explain(host: Host, key: ProcessKey, error: HostError | ParseError) -> HostError | ParseError:
    """A refusal with what would lift it, and a missing file of a living process as the kernel's lack of it."""
    if not isinstance(error, HostError):
        return error
    if error.word == "denied":
        return HostError("denied", error.path, f"{error.detail}; another user's process needs CAP_SYS_PTRACE")
    if error.word == "gone" and error.path.endswith("numa_maps") and error.detail == "No such file or directory":
        try:
            if alive(host, key, "memory missing"):
                return HostError("absent", error.path, "this kernel has no NUMA support (CONFIG_NUMA)")
        except (HostError, ParseError):
            return error
    return error


def make(settings: Settings) -> MemoryReader:
    """The reader for a run."""
    return MemoryReader(settings.memory_method, every_look=settings.every_look)
