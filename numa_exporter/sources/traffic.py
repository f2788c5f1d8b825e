"""Memory traffic by L3 domain: resctrl's bandwidth counters, read only where somebody mounted it.

Documentation/filesystems/resctrl.rst. A control group's mon_data sums its monitoring groups; the machine is the root
group and all control groups together. CPUs only: a GPU's DMA never appears here.
"""

from collections.abc import Iterator, Mapping

from numa_exporter.formats import idlist, number, resctrl
from numa_exporter.model.ids import CpuSet
from numa_exporter.model.machine import Traffic, TrafficDomain
from numa_exporter.model.sample import Sample
from numa_exporter.sources.host import Host, HostError
from numa_exporter.sources.look import Look
from numa_exporter.sources.source import Outcome

RESCTRL = "/sys/fs/resctrl"
CPUS = "/sys/devices/system/cpu"

_NO_GROUP = frozenset({"info", "mon_groups", "mon_data"})
_EVENTS = ("mbm_total_bytes", "mbm_local_bytes")


class TrafficReader:
    """Reader of Traffic. Keeps sums of its own, for a group takes its counters along when it is removed: a group seen
    later adds only what it moves from then on, and no sum ever falls."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}
        self._sums: dict[tuple[str, str], int] = {}

    def read(self, host: Host, sample: Sample) -> Outcome[Traffic]:
        # Unmounted, the directory is there and empty.
        try:
            mounted = "mon_data" in host.list(RESCTRL)
        except HostError as error:
            if error.word != "absent":
                raise
            mounted = False
        if not mounted:
            raise HostError("absent", f"{RESCTRL}/mon_data", "resctrl is not mounted, or does not monitor")
        look = Look(host)
        first = not self._seen
        seen: dict[str, int] = {}
        for domain, event, path in counters(look):
            count = look.file(path, resctrl.parse)
            if count is None:  # Unavailable: take it up again where it was
                count = self._seen.get(path)
            if count is not None:
                seen[path] = count
                before = 0 if first else self._seen.get(path, count)
                key = domain, event
                self._sums[key] = self._sums.get(key, 0) + max(0, count - before)
        self._seen = seen
        value = Traffic(domains=tuple(self._domains(domains_by_id(look))))
        return Outcome(value=value, failure=look.failure, counts=look.failures.counts)

    def _domains(self, cpus: Mapping[int, CpuSet]) -> Iterator[TrafficDomain]:
        total, local = _EVENTS
        for domain in sorted({domain for domain, _ in self._sums}, key=int):
            yield TrafficDomain(
                domain=domain,
                cpus=cpus.get(int(domain), frozenset()),
                total_bytes=self._sums.get((domain, total)),
                local_bytes=self._sums.get((domain, local)),
            )


def counters(look: Look) -> Iterator[tuple[str, str, str]]:
    """(domain, event, path) of every counter. A domain's own files sum its sub-NUMA clusters."""
    groups = [RESCTRL, *(f"{RESCTRL}/{name}" for name in look.names(RESCTRL) if name not in _NO_GROUP)]
    for group in groups:
        for name in look.names(f"{group}/mon_data"):
            domain = resctrl.domain(name)
            if domain is not None and not name.startswith("mon_sub_"):
                for event in _EVENTS:
                    yield str(domain), event, f"{group}/mon_data/{name}/{event}"


def domains_by_id(look: Look) -> Mapping[int, CpuSet]:
    """The CPUs of each L3 cache by the cache's id (one CPU of each is asked)."""
    found: dict[int, CpuSet] = {}
    asked: set[int] = set()
    for cpu in sorted(look.file(f"{CPUS}/online", idlist.parse) or ()):
        if cpu in asked:
            continue
        cache = f"{CPUS}/cpu{cpu}/cache/index3"
        shared = look.file(f"{cache}/shared_cpu_list", idlist.parse) or frozenset({cpu})
        cache_id = look.file(f"{cache}/id", number.parse)
        asked |= shared
        if cache_id is not None:
            found[cache_id] = shared
    return found
