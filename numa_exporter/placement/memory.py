"""Memory side of a rank: the pages that its processes map, whose they are, and how well their share is known."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from numa_exporter.model.estimate import Part, half_width
from numa_exporter.model.ids import Backing, ProcessKey
from numa_exporter.model.processes import ClassEstimate, MappedMemory
from numa_exporter.placement.locality import Localities

ByNode = Mapping[int, int]
PRIVATE: tuple[Backing, ...] = ("anon", "shmem_anon", "hugetlb", "driver")
HOST_BUFFERS: tuple[Backing, ...] = ("shmem_anon", "driver")


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Bytes of one backing of one process, with what sampling knows of its shares (None: pages were walked)."""

    by_node: ByNode
    estimate: ClassEstimate | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """The remote part of what was considered, and the 95 % half-width of their ratio (None where unknown)."""

    remote: float
    considered: float
    half_width: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySide:
    """The processes of one rank together. ``mapped`` is None where not one of them could be read; a process that was
    not read yet is left out. ``withheld`` says why the shares of one are not known."""

    mapped: Mapping[Backing, ByNode] | None = None
    private_shmem: ByNode = field(default_factory=dict)
    shared_shmem: ByNode = field(default_factory=dict)
    private: tuple[Piece, ...] = ()
    host_buffers: tuple[Piece, ...] = ()
    shared: tuple[Piece, ...] = ()
    method: Literal["walk", "sample"] | None = None
    withheld: str | None = None
    policy: str | None = None
    policy_bytes: Mapping[str, int] | None = None


def sharers(ranks: Iterable[Iterable[ProcessKey]], memory: Mapping[ProcessKey, MappedMemory]) -> Mapping[str, int]:
    """How many ranks of the machine map each segment."""
    count: dict[str, int] = {}
    for processes in ranks:
        for segment in {segment for key in processes if key in memory for segment in memory[key].segments}:
            count[segment] = count.get(segment, 0) + 1
    return count


def memory_side(processes: Sequence[MappedMemory], shared_by: Mapping[str, int]) -> MemorySide:
    """``processes``: the leader's first; ``shared_by``: ranks by segment."""
    read = [process for process in processes if process.withheld is None]
    withheld = next((process.withheld for process in processes if process.withheld is not None), None)
    if not read:
        return MemorySide(withheld=withheld)
    own = [_pieces_of_segments(process, shared_by, alone=True) for process in read]
    others = [_pieces_of_segments(process, shared_by, alone=False) for process in read]
    walked = all(process.method == "walk" for process in read)
    return MemorySide(
        mapped={backing: _sum(by_node) for backing, by_node in _by_backing(read).items()},
        private_shmem=_sum(piece.by_node for piece in own),
        shared_shmem=_sum(piece.by_node for piece in others),
        private=(*_pieces(read, PRIVATE), *own),
        host_buffers=_pieces(read, HOST_BUFFERS),
        shared=tuple(others),
        method="walk" if walked else "sample",
        withheld=withheld,
        policy=next((process.policy for process in read if process.policy is not None), None),
        policy_bytes=_policy_bytes(read) if walked and not withheld else None,
    )


def share_of(pieces: Iterable[Piece], localities: Localities) -> Share:
    """Remote bytes over all bytes but those on the rank's own GPUs.

    Pages on a node whose locality cannot be told count as considered: the ratio is then the least that it can be.
    """
    parts = [(_considered(piece, localities), _remote(piece, localities), piece) for piece in pieces]
    considered, remote = sum(part[0] for part in parts), sum(part[1] for part in parts)
    return Share(remote=remote, considered=considered, half_width=_half_width(parts, considered))


def _half_width(parts: Sequence[tuple[int, int, Piece]], considered: int) -> float | None:
    """The half-width of the remote share; None where a class was sampled but its sample size is not known.

    A piece that is part of its class (one segment of shared memory, or without the pages on the rank's own GPUs) rests
    on that part of the class's sample.
    """
    kinds = []
    for bytes_, remote, piece in parts:
        if not bytes_:
            continue
        effective = None
        if piece.estimate is not None:
            if piece.estimate.effective_samples <= 0:
                return None
            effective = piece.estimate.effective_samples * bytes_ / max(bytes_, piece.estimate.resident_bytes)
        kinds.append(Part(bytes_ / considered, remote / bytes_, effective))
    return half_width(kinds)


def _considered(piece: Piece, localities: Localities) -> int:
    return sum(count for node, count in piece.by_node.items() if localities.get(node) != "device")


def _remote(piece: Piece, localities: Localities) -> int:
    return sum(count for node, count in piece.by_node.items() if localities.get(node) == "remote")


def _pieces(processes: Iterable[MappedMemory], backings: Iterable[Backing]) -> tuple[Piece, ...]:
    return tuple(
        Piece(by_node=process.mapped[backing], estimate=_estimate(process, backing))
        for process in processes
        for backing in backings
        if backing in process.mapped
    )


def _pieces_of_segments(process: MappedMemory, shared_by: Mapping[str, int], *, alone: bool) -> Piece:
    """The named shmem that one rank alone maps, or that others map too."""
    chosen = (by_node for name, by_node in process.segments.items() if (shared_by.get(name, 0) <= 1) == alone)
    return Piece(by_node=_sum(chosen), estimate=_estimate(process, "shmem"))


def _estimate(process: MappedMemory, backing: Backing) -> ClassEstimate | None:
    if process.method == "walk":
        return None
    nothing = ClassEstimate(resident_bytes=0, shares={}, effective_samples=0.0)
    return (process.estimates or {}).get(backing, nothing)


def _by_backing(processes: Iterable[MappedMemory]) -> dict[Backing, list[ByNode]]:
    found: dict[Backing, list[ByNode]] = {}
    for process in processes:
        for backing, by_node in process.mapped.items():
            found.setdefault(backing, []).append(by_node)
    return found


def _sum(parts: Iterable[ByNode]) -> dict[int, int]:
    total: dict[int, int] = {}
    for by_node in parts:
        for node, count in by_node.items():
            total[node] = total.get(node, 0) + count
    return total


def _policy_bytes(processes: Iterable[MappedMemory]) -> Mapping[str, int] | None:
    total: dict[str, int] = {}
    for process in processes:
        if process.policy_bytes is None:
            return None
        for policy, count in process.policy_bytes.items():
            total[policy] = total.get(policy, 0) + count
    return total
