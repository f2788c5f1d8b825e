"""The product's own readings of one process, as the agent does them, and what they cost."""

import time
from collections.abc import Callable

from numa_exporter.model.ids import ProcessKey
from numa_exporter.model.processes import MappedMemory
from numa_exporter.sources.guard import Guard
from numa_exporter.sources.live import LiveHost
from numa_exporter.sources.mapped_pages import MappedPages
from numa_exporter.sources.page_walk import PageSizes
from numa_exporter.sources.roots import Roots


class Looks:
    """Reads one process again and again by one method, under the guard that the agent uses too."""

    def __init__(self, pid: int, method: str) -> None:
        self._host = LiveHost(Roots())
        self._key = ProcessKey(pid=pid, start_ticks=self._host.started(pid, "bench"))
        self._guard = Guard(60.0)
        self._pages = MappedPages(method)

    def look(self) -> MappedMemory:
        pid = self._key.pid
        found = self._guard.run(self._host, self._key, f"/proc/{pid}/numa_maps", self._read)
        if found.withheld is not None and found.method == "walk":
            raise RuntimeError(found.withheld)
        return found

    def _read(self) -> MappedMemory:
        return self._pages.read(self._host, self._key, PageSizes(), self._host.now("bench"))


def cpu_seconds(call: Callable[[], object]) -> float:
    """CPU time of this process, kernel and threads included, for one call."""
    began = time.process_time()
    call()
    return time.process_time() - began


def quantile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]
