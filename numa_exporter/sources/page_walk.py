"""Where the pages of one process are: /proc/PID/numa_maps read in full, told apart by /proc/PID/maps.

The kernel walks one mapping's page tables per record and holds the target's mmap lock meanwhile (12 to 15 ms for a
GiB of base pages). A buffer smaller than a record gives the lock back after each mapping; smaps is never read.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from numa_exporter.formats import maps, numa_maps
from numa_exporter.formats.backing import backing_of
from numa_exporter.formats.numa_maps import NumaMaps
from numa_exporter.formats.parse_error import ParseError
from numa_exporter.sources import address_space
from numa_exporter.sources.address_space import AddressSpace
from numa_exporter.sources.host import Host, HostError

SMALL_BLOCK = 64
LARGE_BLOCK = 4096
SMALL_PROCESS_BYTES = 64 << 20
"""Under this all of a process's page tables are walked within a millisecond: large reads do no harm."""
HEAD_VMA_BYTES = 64 << 20
"""Facts: the first mapping of a CUDA process can be 2 GiB, and asking for its policy then costs a walk of 20 ms."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSizes:
    """Base and default huge page size in bytes, for kernels that print none (before 4.0)."""

    base: int = 4096
    huge: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """A whole numa_maps, and the leader's effective policy where the first mapping shows it."""

    numa_maps: NumaMaps
    policy: str | None


class PageWalk:
    """Reads one process."""

    def __init__(self, host: Host, pid: int) -> None:
        self._host = host
        self._pid = pid
        self._path = f"/proc/{pid}/numa_maps"

    def walk(self, resident_bytes: int, sizes: PageSizes) -> Walk:
        """The whole address space. An exec while it is read ends the old file early: then once more, from the start.

        Raises HostError and ParseError; ``gone`` also for a process that has no address space any more.
        """
        block = LARGE_BLOCK if resident_bytes < SMALL_PROCESS_BYTES else SMALL_BLOCK
        for _ in range(2):
            space = address_space.read(self._host, self._pid)
            head = _Head()
            folded = self._fold(head, block, space, sizes)
            # Mappings come and go while one reads; a tenth of them missing is no such noise.
            if space.text and folded.vmas >= 0.9 * (space.mappings - 1):
                return Walk(numa_maps=folded, policy=_policy(head.data, space, self._path))
        raise HostError("gone", self._path, "the address space went away while it was read")

    def policy(self, space: AddressSpace) -> str | None:
        """The leader's effective policy from the first bytes alone; None where reading them could do harm."""
        first = space.first
        if first is None or first.end - first.start > HEAD_VMA_BYTES:
            return None

        head = next(iter(self._host.stream(self._path, SMALL_BLOCK)), b"")
        return _policy(head, space, self._path)

    def _fold(self, head: "_Head", block: int, space: AddressSpace, sizes: PageSizes) -> NumaMaps:
        return numa_maps.fold(
            head.tee(self._host.stream(self._path, block)),
            self._path,
            files=maps.files(space.text),
            devices=space.devices,
            base_page_bytes=sizes.base,
            huge_page_bytes=sizes.huge,
        )


class _Head:
    """The first bytes of a stream that somebody else consumes."""

    def __init__(self) -> None:
        self.data = b""

    def tee(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        for block in blocks:
            if len(self.data) < LARGE_BLOCK and b"\n" not in self.data:
                self.data += block
            yield block


def _policy(head: bytes, space: AddressSpace, path: str) -> str | None:
    """The policy of the first mapping, if it is one that shows the task's own. Shared memory has its own."""
    first = space.first
    if first is None or backing_of(first.name, device=first.device, devices=space.devices) not in ("anon", "file"):
        return None
    line, newline, _ = head.partition(b"\n")
    if not newline:
        line, _, cut = line.rpartition(b" ")
        if b":" in cut.partition(b"=")[0]:
            return None  # a node list longer than what was read
    try:
        found = numa_maps.parse_line(line, path, 1)
    except ParseError:
        return None  # a policy word longer than what was read
    return found.policy_word if found.start == first.start else None
