"""Ranks of a workload: its processes with the same set of main GPUs. Every process is in one rank or a helper."""

from collections.abc import Sequence
from dataclasses import dataclass

from numa_exporter.placement.ownership import Member


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The members of one rank, ``gpus`` their main set."""

    gpus: frozenset[str]
    members: tuple[Member, ...]

    @property
    def uuid(self) -> str:
        return min(self.gpus)


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """Ranks in order of their UUIDs. ``notes`` say what was merged."""

    ranks: tuple[Group, ...]
    helpers: tuple[Member, ...]
    notes: tuple[str, ...]


def group(members: Sequence[Member]) -> Groups:
    """A process that strictly contains another's set launched it: a helper, as is one without any main GPU."""
    sets = {member.main for member in members if member.main}
    if not sets:  # as of most containers of a node
        return Groups(ranks=(), helpers=tuple(members), notes=())
    smallest = [own for own in sets if not any(other < own for other in sets)]
    by_uuid: dict[str, frozenset[str]] = {}
    merged: dict[str, list[frozenset[str]]] = {}
    for own in sorted(smallest, key=sorted):
        uuid = min(own)
        merged.setdefault(uuid, []).append(own)
        by_uuid[uuid] = by_uuid.get(uuid, frozenset()) | own
    ranks = tuple(
        Group(gpus=gpus, members=tuple(member for member in members if member.main in merged[uuid]))
        for uuid, gpus in sorted(by_uuid.items())
    )
    placed = {member.process.key for rank in ranks for member in rank.members}
    return Groups(
        ranks=ranks,
        helpers=tuple(member for member in members if member.process.key not in placed),
        notes=tuple(_merged(sets) for sets in merged.values() if len(sets) > 1),
    )


def _merged(sets: Sequence[frozenset[str]]) -> str:
    named = " and ".join("{" + ", ".join(sorted(own)) + "}" for own in sets)
    return f"processes on {named} share their lowest GPU and are shown as one rank"
