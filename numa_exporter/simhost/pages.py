"""The address space of a process: which mappings it has, and on which node each of their pages is.

One truth for two doors: /proc/PID/{maps,numa_maps} print what page_nodes (move_pages) answers page by page.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from numa_exporter.simhost.layout import PAGE
from numa_exporter.simhost.task import Task

ARENAS = 6
ROUND = 1 << 12
"""Pages of a mapping are dealt out to nodes in rounds of this many, in a scattered order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedMapping:
    """One mapping. ``by_node``: pages by node, summing up to the resident part, which is its beginning."""

    start: int
    end: int
    perms: str
    device: str
    inode: int
    name: str
    policy: str
    by_node: Mapping[int, int]

    @property
    def pages(self) -> int:
        return sum(self.by_node.values())

    @property
    def resident(self) -> int:
        return self.pages * PAGE

    @property
    def maps_line(self) -> str:
        head = f"{self.start:012x}-{self.end:012x} {self.perms} 00000000 {self.device} {self.inode}"
        return f"{head:<73}{self.name}" if self.name else head

    @property
    def numa_maps_line(self) -> str:
        count = self.pages
        if self.name == "[heap]":
            what = " heap"
        elif self.name == "[stack]":
            what = " stack"
        else:
            what = f" file={self.name.replace(' ', chr(92) + '040')}" if self.name else ""
        if not count:
            return f"{self.start:x} {self.policy}{what}"
        kind = f"mapped={count}" if self.perms.startswith("r-") else f"anon={count} dirty={count}"
        nodes = " ".join(f"N{node}={pages}" for node, pages in sorted(self.by_node.items()) if pages)
        return f"{self.start:x} {self.policy}{what} {kind} active=0 {nodes} kernelpagesize_kB=4"

    def node_of(self, address: int) -> int:
        """What move_pages says: the node, or -2 (ENOENT) where no page is."""
        page = (address - self.start) // PAGE
        count = self.pages
        if page >= count:
            return -2
        # Knuth's multiplicative hash: as many of each node as numa_maps prints, but never in a stride.
        place = (page * 2654435761 % ROUND) / ROUND * count
        for node, pages in sorted(self.by_node.items()):
            if place < pages:
                return node
            place -= pages
        return max(self.by_node)


def page_nodes(mappings: Sequence[SimulatedMapping], addresses: Sequence[int]) -> list[int]:
    """move_pages in query mode; -14 (EFAULT) outside every mapping."""
    starts = [mapping.start for mapping in mappings]
    found = []
    for address in addresses:
        at = bisect_right(starts, address) - 1
        inside = at >= 0 and address < mappings[at].end
        found.append(mappings[at].node_of(address) if inside else -14)
    return found


def mappings(task: Task, now: float) -> tuple[SimulatedMapping, ...]:
    """A Python server's address space: text, heap, arenas, and for a rank pinned buffers and the driver's mappings."""
    shares = task.pages
    loaded = task.loaded(now)
    first = min(shares)
    private = task.private or 8 << 20
    made = [
        _mapping(0x55D000000000, 4 << 20, "r-xp", "/usr/bin/python3.12", task, {first: 1.0}, inode=1201),
        _mapping(0x55D100000000, private // 8, "rw-p", "[heap]", task, shares, loaded),
    ]
    made += [
        _mapping(0x7F0000000000 + number * 0x100000000, private * 7 // 8 // ARENAS, "rw-p", "", task, shares, loaded)
        for number in range(ARENAS)
    ]
    made.append(
        _mapping(0x7F5000000000, 320 << 20, "r-xp", "/usr/lib/libtorch_cuda.so", task, {first: 1.0}, inode=1377)
    )
    if task.gpu is not None:
        zero = "/dev/zero (deleted)"
        made += [
            _mapping(0x7F6000000000, task.pinned, "rw-s", zero, task, shares, loaded, device="00:01", inode=2049),
            _mapping(0x7F7000000000, 24 << 20, "rw-s", "/dev/nvidiactl", task, shares, device="00:05", inode=877),
        ]
    made.append(_mapping(0x7FFF00000000, 132 << 10, "rw-p", "[stack]", task, {first: 1.0}))
    return tuple(made)


def _mapping(
    start: int,
    length: int,
    perms: str,
    name: str,
    task: Task,
    shares: Mapping[int, float],
    loaded: float = 1.0,
    *,
    device: str = "",
    inode: int = 0,
) -> SimulatedMapping:
    whole = length // PAGE
    resident = int(whole * loaded)
    by_node = {node: int(resident * share) for node, share in shares.items()}
    by_node[min(by_node)] += resident - sum(by_node.values())
    private = perms.endswith("p")
    return SimulatedMapping(
        start=start,
        end=start + whole * PAGE,
        perms=perms,
        device=device or ("103:02" if name.startswith("/") else "00:00"),
        inode=inode,
        name=name,
        policy=task.policy if private else "default",
        by_node=by_node,
    )
