"""Where the pages of GPU processes and their helpers are. Each process has its own rhythm, budget and deadline.

A reading that would hold its target up for longer than the budget is withheld, and says so: a number is not worth a
slow token. A process whose lock was hard to get is asked less often, one that got stuck is left alone; the others go
on.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from numa_exporter.formats.parse_error import ParseError
from numa_exporter.model.ids import ProcessKey
from numa_exporter.model.processes import MappedMemory, Memory, Process
from numa_exporter.model.sample import Sample
from numa_exporter.model.thresholds import Settings
from numa_exporter.sources.guard import Guard
from numa_exporter.sources.host import Host, HostError, Instant
from numa_exporter.sources.identity import alive, same_process
from numa_exporter.sources.mapped_pages import SAMPLE_SECONDS, MappedPages, walk_seconds, withheld
from numa_exporter.sources.page_walk import PageSizes
from numa_exporter.sources.source import Failures, Outcome, failure_of

LOOK_BUDGET_SECONDS = 0.150
"""1 % of one CPU at a look every 15 s; who does not fit in waits for the next look."""
PROCESS_INTERVAL = 30.0
EARLIEST, LATEST = 0.6, 0.95
"""Shares of the interval between which a process is due again: looks are 15 s apart, whoever is not due at one waits
for the next. After the first reading it may be due at once, so that those that started together part."""
YOUNGEST = 10.0
"""Seconds; a younger process is still mapping its libraries."""
READ_DEADLINE = 5.0
LONGEST_CALL = 0.010
"""Seconds in one call that can hold the lock; a walk may take twice what was predicted. Beyond that the lock is
contended, and whoever waits for it keeps others waiting."""
LARGEST_STRETCH = 16.0


@dataclass(slots=True, kw_only=True)
class _Entry:
    """The last reading of one process, when the next is due (monotonic), and by how much its interval is stretched."""

    value: MappedMemory | None = None
    error: HostError | ParseError | None = None
    due: float = float("-inf")
    stretch: float = 1.0


class MemoryReader:
    """Reader of ``Sample.memory``.

    ``method`` is auto, walk or sample; ``every_look`` reads every process at each look, as a report wants it.
    """

    def __init__(self, method: str = "auto", *, every_look: bool = False, deadline: float = READ_DEADLINE) -> None:
        self._every_look = every_look
        self._guard = Guard(deadline)
        self._pages = MappedPages(method)
        self._entries: dict[ProcessKey, _Entry] = {}

    def read(self, host: Host, sample: Sample) -> Outcome[Memory]:
        if sample.processes is None:
            raise HostError("absent", "/proc", "waits for the source processes")
        now = host.now("memory.look")
        wanted = {process.key: process for process in sample.processes.processes if _wanted(process, now)}
        self._entries = {key: self._entries.get(key) or _Entry() for key in wanted}
        self._guard.keep(wanted)
        self._pages.keep(wanted)
        if wanted:
            self._pages.try_means(host)
        failures = Failures()
        for key in self._turns(wanted, now, host):
            self._read_process(host, wanted[key], _sizes(sample), now, failures)
        by_process = {key: entry.value for key, entry in self._entries.items() if entry.value is not None}
        standing = Failures()
        for entry in self._entries.values():
            if entry.error is not None:
                standing.add(entry.error)
        failure = standing.worst("garbled", "denied", "stuck", "absent")
        value = Memory(by_process=by_process, sampling=self._pages.sampling)
        return Outcome(value=value, failure=failure, counts=failures.counts)

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
            entry = self._entries[key]
            earliest = EARLIEST if entry.value is not None else 0.0
            spent += _predicted(entry.value) if entry.value is not None else 0.0
            if turns and spent > LOOK_BUDGET_SECONDS:
                break
            turns.append(key)
            entry.due = now.monotonic + entry.stretch * PROCESS_INTERVAL * jitter.uniform(earliest, LATEST)
        return turns

    def _read_process(self, host: Host, process: Process, sizes: PageSizes, now: Instant, failures: Failures) -> None:
        entry = self._entries[process.key]
        entry.error = None
        try:
            with same_process(host, process.key, "memory"):
                entry.value = self._guard.run(
                    host,
                    process.key,
                    f"/proc/{process.key.pid}/numa_maps",
                    lambda: self._pages.read(host, process.key, sizes, now),
                )
        except (HostError, ParseError) as error:
            error = _explain(host, process.key, error)
            failures.add(error)
            entry.error = error
            entry.value = None if failure_of(error).word == "gone" else withheld(str(error), now)
        self._back_off(entry, host.longest_hold(process.key.pid, "memory"))

    def _back_off(self, entry: _Entry, held: float) -> None:
        """Ask less often whoever took a call for longer than it should, and more often again once that is over."""
        longest = max(LONGEST_CALL, 2 * _predicted(entry.value)) if entry.value is not None else LONGEST_CALL
        if held > longest:
            entry.stretch = min(LARGEST_STRETCH, entry.stretch * 2)
        else:
            entry.stretch = max(1.0, entry.stretch / 2)


def _predicted(value: MappedMemory) -> float:
    """What the next reading will cost, by the last one."""
    if value.withheld is not None and value.method == "walk":
        return 0.0
    return SAMPLE_SECONDS if value.method == "sample" else walk_seconds(value.resident_bytes or 0)


def _wanted(process: Process, now: Instant) -> bool:
    old = process.start_time is None or now.wall - process.start_time >= YOUNGEST
    return old and not process.own


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
