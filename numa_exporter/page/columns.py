"""The columns of the ledger: one per node that a rank can run on or keep memory on, a gap between two sockets."""

from collections.abc import Mapping
from dataclasses import dataclass

from numa_exporter.page.hardware import Node

GAP = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """`tracks`: node ids from left to right, None for the gap between two sockets."""

    tracks: tuple[int | None, ...]
    sockets: tuple[tuple[int | None, int], ...]
    """From left to right: socket (None = unknown) and over how many columns its frame spans; gaps lie between."""

    @property
    def nodes(self) -> tuple[int, ...]:
        return tuple(track for track in self.tracks if track is not None)

    @property
    def single(self) -> bool:
        """One node: nothing can be out of place."""
        return len(self.nodes) == 1

    @property
    def mirrored(self) -> bool:
        """Exactly two columns with a gap: the left one grows leftwards, so each lane is one bar across the gap."""
        return len(self.tracks) == 3 and self.tracks[1] is GAP

    @property
    def narrow(self) -> bool:
        """More columns than have room for a whole sentence each."""
        return len(self.tracks) > 3

    @property
    def template(self) -> str:
        """CSS grid tracks."""
        return " ".join("var(--gap)" if track is GAP else "minmax(0, 1fr)" for track in self.tracks)

    def position(self, node: int) -> int | None:
        """Index in `tracks`; None for a node without a column."""
        return self.tracks.index(node) if node in self.tracks else None


def lay_out(nodes: Mapping[int, Node]) -> Columns:
    """Order by socket, then id. GPU nodes and nodes with neither CPUs nor memory get no column."""
    drawn = [n for n in nodes.values() if n.kind == "cpu" or (n.kind == "memory" and n.memory_bytes)]
    drawn.sort(key=lambda n: (n.socket is None, n.socket or 0, n.id))
    tracks: list[int | None] = []
    sockets: list[tuple[int | None, int]] = []
    for node in drawn:
        if sockets and node.socket is not None and node.socket == sockets[-1][0]:
            sockets[-1] = (node.socket, sockets[-1][1] + 1)
        else:
            if tracks:
                tracks.append(GAP)
            sockets.append((node.socket, 1))
        tracks.append(node.id)
    return Columns(tracks=tuple(tracks), sockets=tuple(sockets))
