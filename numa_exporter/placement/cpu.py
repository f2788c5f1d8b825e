"""CPU side of a rank: where its threads may run, where they ran, and which of them escaped from its home."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from numa_exporter.model.ids import CpuSet, Locality
from numa_exporter.model.placement import Machine
from numa_exporter.model.processes import ProcessThreads, ThreadGroup
from numa_exporter.placement.locality import Home, counted, cpus_counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Escaped:
    """Threads that may leave a home to which their process is bound, and the cores they used together."""

    threads: int = 0
    cores: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuSide:
    """``allowed`` CPUs and ``ran`` threads by locality, None without a home or without any reading."""

    groups: tuple[ThreadGroup, ...]
    window: float | None
    allowed: Mapping[Locality, int] | None
    ran: Mapping[Locality, int] | None
    escaped: Escaped | None


def cpu_side(machine: Machine, home: Home, processes: Sequence[ProcessThreads]) -> CpuSide:
    """The processes of one rank together."""
    groups = tuple(group for process in processes for group in process.groups)
    known = bool(home.nodes and groups)
    windows = [process.window for process in processes if process.window]
    union: CpuSet = frozenset().union(*(group.allowed for group in groups))
    return CpuSide(
        groups=groups,
        window=max(windows, default=None),
        allowed=cpus_counted(home, union) if known else None,
        ran=counted(machine, home.on_cpu, _ran_on(groups)) if known and windows else None,
        escaped=_escaped(processes, home.cpus["remote"]) if known and windows else None,
    )


def _ran_on(groups: Iterable[ThreadGroup]) -> dict[int, int]:
    by_node: dict[int, int] = {}
    for group in groups:
        for node, count in group.ran_on.items():
            by_node[node] = by_node.get(node, 0) + count
    return by_node


def _escaped(processes: Iterable[ProcessThreads], remote: CpuSet) -> Escaped:
    """Only of a process that is bound to home (no CPU of its mask is remote): by its main thread, or by more than half
    of its CPU time.

    NCCL's threads inherit GPU-local masks beside a main thread without any: bound threads alone mean nothing.
    """
    threads, cores = 0, 0.0
    for process in processes:
        inside = [group for group in process.groups if group.allowed.isdisjoint(remote)]
        outside = [group for group in process.groups if not group.allowed.isdisjoint(remote)]
        spent_inside, spent_outside = _spent(inside), _spent(outside)
        main_inside = any(group.has_main for group in inside)
        if process.window and (main_inside or spent_inside > spent_outside):
            busy = [group for group in outside if group.busy]
            threads += sum(group.busy for group in busy)
            cores += _spent(busy) / process.window
    return Escaped(threads=threads, cores=cores)


def _spent(groups: Iterable[ThreadGroup]) -> float:
    return sum(sum(group.window_seconds.values()) for group in groups)
