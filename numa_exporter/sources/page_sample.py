"""Where the pages of one process are, by sampling: the sampler set to work on a live (or recorded) process."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from contextlib import ExitStack

from numa_exporter.formats import maps
from numa_exporter.formats.backing import Backing
from numa_exporter.formats.proc_status import Status
from numa_exporter.model.processes import ClassEstimate, Sampling
from numa_exporter.sources.address_space import AddressSpace
from numa_exporter.sources.host import Host, HostError, PageTables
from numa_exporter.sources.sampler.estimator import Estimate
from numa_exporter.sources.sampler.frame import frame_of, resident_of
from numa_exporter.sources.sampler.sampler import Sampler
from numa_exporter.sources.sampler.space import Present
from numa_exporter.sources.sampler.tally import Tally

Segments = Mapping[str, Mapping[int, int]]


class PageSample:
    """One look at one process; ``sampler`` is what is kept of it between looks."""

    def __init__(self, host: Host, pid: int, page_bytes: int) -> None:
        self._host, self._pid, self._page_bytes = host, pid, page_bytes
        self.sampling: Sampling | None = None
        """By what means the look was done."""

    def look(self, sampler: Sampler, space: AddressSpace, status: Status) -> Estimate:
        """Ask and estimate. Raises HostError and ParseError."""
        frame = frame_of(space.spans(), self._page_bytes)
        resident = resident_of(status, self._page_bytes)
        seed = self._host.seed(f"sampler {self._pid}")
        with ExitStack() as stack:
            pages = _Pages(self._host, self._pid, self._tables(stack), self._page_bytes)
            return sampler.look(pages, frame, resident, seed)

    def _tables(self, stack: ExitStack) -> PageTables | None:
        """The page tables, opened anew for each look; None where they cannot be scanned: move_pages has to do."""
        try:
            tables = stack.enter_context(self._host.page_tables(self._pid))
        except HostError as error:
            if error.word not in ("absent", "denied"):
                raise
            needs = " (needs CAP_DAC_READ_SEARCH)" if error.word == "denied" else ""
            self.sampling = Sampling(means="move_pages", obstacle=f"no PAGEMAP_SCAN: {error.detail}{needs}")
            return None
        self.sampling = Sampling(means="pagemap_scan")
        return tables

    def estimates(self, made: Estimate) -> dict[Backing, ClassEstimate]:
        """What was estimated of each backing, in bytes."""
        return {
            backing: ClassEstimate(
                resident_bytes=round(made.pages[backing] * self._page_bytes),
                shares={node: pages / tally.pages for node, pages in sorted(tally.by_node.items())},
                effective_samples=tally.effective,
            )
            for backing, tally in made.tallies.items()
            if tally.pages
        }

    def segments(self, made: Estimate, space: AddressSpace) -> Segments:
        """Named shared memory by segment and node; a segment without a hit is known to be mapped, and no more."""
        tally = made.tallies.get("shmem")
        if tally is None or not tally.pages:
            return {}
        bytes_a_page = made.pages["shmem"] / tally.pages * self._page_bytes
        return _segments(tally, maps.segments(space.text, space.devices), bytes_a_page, self._page_bytes)


class _Pages:
    """The sampler's questions in pages, put to a host in bytes."""

    def __init__(self, host: Host, pid: int, tables: PageTables | None, page_bytes: int) -> None:
        self._host, self._pid, self._tables = host, pid, tables
        self._shift = page_bytes.bit_length() - 1

    @property
    def scans(self) -> bool:
        return self._tables is not None

    def nodes(self, pages: Sequence[int]) -> Sequence[int]:
        shift = self._shift
        return self._host.page_nodes(self._pid, [page << shift for page in pages])

    def present(self, first: int, end: int, limit: int = 0) -> Present:
        assert self._tables is not None
        shift = self._shift
        edges, seconds = self._tables.present(first << shift, end << shift, limit)
        if not edges:
            return (), seconds
        pages = [edge >> shift for edge in edges]
        return list(zip(pages[0::2], pages[1::2], strict=True)), seconds


def _segments(tally: Tally, segments: Sequence[maps.Segment], scale: float, page_bytes: int) -> Segments:
    starts = [segment.start // page_bytes for segment in segments]
    found: dict[str, dict[int, float]] = {str(segment.file): {} for segment in segments}
    for weight, pages, nodes in tally.asked:
        for page, node in zip(pages, nodes, strict=True):
            if node < 0:
                continue
            by_node = found[str(segments[max(0, bisect_right(starts, page) - 1)].file)]
            by_node[node] = by_node.get(node, 0.0) + weight * scale
    return {name: {node: round(count) for node, count in by_node.items()} for name, by_node in found.items()}
