"""topo --against: a table that somebody pasted from nvidia-smi or rocm-smi, held against this machine's sysfs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from numa_exporter.cli.errors import UsageError
from numa_exporter.formats import idlist, smi_topology
from numa_exporter.formats.parse_error import ParseError
from numa_exporter.formats.smi_topology import GpuRow, SmiTopology
from numa_exporter.model.ids import CpuSet
from numa_exporter.model.placement import Machine, PlacedGpu

PATHS = frozenset({"PIX", "PXB", "PHB", "NODE", "SYS"})
"""NVLink and C2C stand in the same cells, but sysfs knows nothing of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubt:
    """One cell in which table and sysfs differ; ``ours`` is None where sysfs does not say."""

    place: str
    theirs: str
    ours: str | None

    def __str__(self) -> str:
        if self.ours is None:
            return f"{self.place}: the table says {self.theirs}, sysfs does not say"
        return f"{self.place}: the table says {self.theirs}, sysfs says {self.ours}"


def read(path: str) -> SmiTopology:
    """The table in a file. UsageError where it cannot be read or holds none."""
    try:
        with open(path, "rb") as file:
            return smi_topology.parse(file.read(), path)
    except OSError as error:
        raise UsageError(f"--against: {path}: {error.strerror}") from error
    except ParseError as error:
        raise UsageError(f"--against: {error}") from error


def doubts(table: SmiTopology, machine: Machine, names: Mapping[str, PlacedGpu]) -> Iterator[Doubt]:
    """Every cell that differs. ``names``: our GPUs as the table calls them, ``GPU0`` and so on."""
    rows = {f"GPU{row.index}": row for row in table.gpus}
    for name in sorted(rows.keys() ^ names.keys(), key=lambda name: int(name[3:])):
        yield Doubt(place=name, theirs=_presence(name in rows), ours=_presence(name in names))
    for name, row in rows.items():
        if name in names:
            yield from _affinity(name, row, machine, names[name])
            yield from _paths(name, row, machine, names, table.nics)


def _presence(here: bool) -> str:
    return "present" if here else "absent"


def _affinity(name: str, row: GpuRow, machine: Machine, placed: PlacedGpu) -> Iterator[Doubt]:
    ours = idlist.render(frozenset(placed.affinity)) or None
    # nvidia-smi counts memory-only nodes in (GB200: 0,3-9,11-17); an affinity is a node with CPUs.
    with_cpus = frozenset(node.id for node in machine.nodes if node.online_cpus)
    for told in (row.numa_affinity, frozenset({row.numa_node}) if row.numa_node is not None else None):
        if told is not None and told & with_cpus != frozenset(placed.affinity):
            yield Doubt(place=f"{name} NUMA affinity", theirs=idlist.render(told), ours=ours)
    cpus = frozenset(cpu for node in machine.nodes if node.id in placed.affinity for cpu in node.node.cpus)
    listed = _listed(row.cpu_affinity)
    if ours is not None and not listed <= cpus:
        yield Doubt(place=f"{name} CPU affinity", theirs=row.cpu_affinity or "", ours=idlist.render(cpus))
    if row.gpu_numa_id is not None and row.gpu_numa_id != placed.gpu.memory_node:
        node = placed.gpu.memory_node
        yield Doubt(
            place=f"{name} memory", theirs=f"node {row.gpu_numa_id}", ours=node if node is None else f"node {node}"
        )


def _listed(text: str | None) -> CpuSet:
    """The CPUs of a cell. nvidia-smi cuts a long list, so its last part may be none, and shows only those that the
    caller may use: fewer than ours is no contradiction."""
    found: set[int] = set()
    for part in (text or "").split(","):
        try:
            found |= idlist.parse(part, "CPU affinity")
        except ParseError:
            break
    return frozenset(found)


def _paths(
    name: str, row: GpuRow, machine: Machine, names: Mapping[str, PlacedGpu], nics: Mapping[str, str]
) -> Iterator[Doubt]:
    ours = {(path.uuid, path.peer): path.path for path in machine.paths}
    ours |= {(peer, uuid): path for (uuid, peer), path in ours.items()}
    uuid = names[name].uuid
    for column, told in row.links.items():
        peer = names[column].uuid if column in names else nics.get(column, column)
        later = column in names and int(column[3:]) < row.index  # each pair once
        if told in PATHS and not later and ours.get((uuid, peer)) != told:
            yield Doubt(place=f"{name} to {_peer(column, peer, names)}", theirs=told, ours=ours.get((uuid, peer)))


def _peer(column: str, peer: str, names: Mapping[str, PlacedGpu]) -> str:
    return column if column in names or column == peer else f"{column} ({peer})"


def verdict(found: Sequence[Doubt], compared: int) -> str:
    """One line in the end."""
    differ = sum(doubt.ours is not None for doubt in found)
    if differ:
        return f"{differ} of the table's cells differ from sysfs ({compared} GPUs compared)."
    return f"No cell of the table contradicts sysfs ({compared} GPUs compared)."
