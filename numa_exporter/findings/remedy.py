"""What to type. Exact CPUs and nodes; engine flags first, then the container, then numactl.

A policy is always a bind at the start: preferring is 95 to 100 % remote beside a full page cache, zone reclaim helps on
6.1 and not on 6.12, and pages that a driver may have pinned are never migrated. CPUs alone where policies are blocked.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from numa_exporter.findings.effect import effect
from numa_exporter.findings.engines import CHECKED, Engine, engine_of
from numa_exporter.findings.forms import (
    POLICY_NEEDS,
    Target,
    container_forms,
    drop_cache,
    engine_forms,
    in_pod,
    limit_forms,
    target,
)
from numa_exporter.findings.scene import Scene
from numa_exporter.model.placement import Rank, Workload

IN_COMMAND = "# in the container's command\n"
ORDERED_ALREADY = (
    "Kubelet and pod ask for it already: see whether the device plugin reports the NUMA nodes of its GPUs, and restart."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """What to type (``Finding.remedy``), and what that needs and may bring (``Finding.remedy_note``)."""

    remedy: str | None
    note: str


def advice(forms: Iterable[str], notes: Iterable[str]) -> Advice:
    """Forms with an empty line between them, notes a line each."""
    return Advice(remedy="\n\n".join(forms) or None, note="\n".join(notes))


def bind(scene: Scene, workload: Workload, rank: Rank) -> Advice:
    """CPUs and memory together, before the engine starts."""
    may = target(scene.machine, rank).within(workload)
    engine = _own_engine(scene, workload, rank, may)
    forms = [*drop_cache(scene.machine, rank), *_own_forms(scene, workload, rank, engine)]
    notes = [*_engine_notes(engine), *_kubernetes_notes(scene, workload)]
    if may.cpus and may.mems:
        forms.append(_command(workload, f"numactl --physcpubind={may.cpu_list} --membind={may.mem_list} COMMAND"))
        notes.append(_precondition(may))
    notes.append("Restart it: pinned pages stay where they are.")
    return advice(forms, [*notes, effect(scene, rank)])


def bind_cpus(scene: Scene, workload: Workload, rank: Rank) -> Advice:
    """CPUs alone: no policy, no precondition."""
    may = target(scene.machine, rank).within(workload)
    engine = _own_engine(scene, workload, rank, may)
    forms = _own_forms(scene, workload, rank, engine)
    notes = [*_engine_notes(engine), *_kubernetes_notes(scene, workload)]
    notes.append("Bind at the start, so that memory is allocated there too.")
    if may.cpus:
        forms.append(_command(workload, f"taskset -c {may.cpu_list} COMMAND"))
        if engine and engine.memory_policy:
            notes.append(_precondition(may))
    return advice(forms, [*notes, effect(scene, rank)])


def container(scene: Scene, workload: Workload, rank: Rank) -> Advice:
    """The container's own limits: its home, or all of its homes, within which each rank is bound by itself."""
    homes = [target(scene.machine, one) for one in workload.ranks]
    every = Target(
        cpus=frozenset().union(*(home.cpus for home in homes)), mems=frozenset().union(*(home.mems for home in homes))
    )
    each = ["Then bind each rank to its own home."] if len(set(homes)) > 1 else []
    return _of_container(scene, workload, rank, every, each)


def limits(scene: Scene, workload: Workload, to: Target) -> Advice:
    """A container's limits that are not the home of a rank."""
    return _of_container(scene, workload, workload.ranks[0], to, [])


def _of_container(scene: Scene, workload: Workload, rank: Rank, to: Target, notes: list[str]) -> Advice:
    forms = list(limit_forms(scene, workload, to))
    if not forms and in_pod(workload) and not _agent(scene):
        notes = [ORDERED_ALREADY, *notes]
    elif not forms:
        mems = f", memory nodes {to.mem_list}" if to.mems else ""
        notes = [f"Its cpuset: CPUs {to.cpu_list}{mems}.", *notes]
    return advice(forms, [*_kubernetes_notes(scene, workload), *notes, effect(scene, rank)])


def _own_forms(scene: Scene, workload: Workload, rank: Rank, engine: Engine | None) -> list[str]:
    return [*engine_forms(scene.machine, workload, rank, engine), *container_forms(scene, workload)]


def _own_engine(scene: Scene, workload: Workload, rank: Rank, may: Target) -> Engine | None:
    """An engine cannot bind itself to what its container may not use: the limits come first, then a restart. Nor can
    its memory be bound to a node that has none."""
    engine = engine_of(rank) if may.cpus and may.mems else None
    homes = [gpu.affinity[:1] for gpu in scene.machine.gpus if gpu.uuid in workload.gpus]
    bare = {placed.id for placed in scene.machine.nodes if not placed.has_memory}
    return None if engine and engine.memory_policy and any(bare & set(home) for home in homes) else engine


def _command(workload: Workload, line: str) -> str:
    return f"{IN_COMMAND if in_pod(workload) else ''}{line}"


def _engine_notes(engine: Engine | None) -> Iterator[str]:
    if engine is not None:
        yield f"{engine.name} flags as of {CHECKED}. {engine.note}".rstrip()


def _agent(scene: Scene) -> str | None:
    return scene.placement.promises.cpuset_agent if scene.placement.promises else None


def _kubernetes_notes(scene: Scene, workload: Workload) -> Iterator[str]:
    agent = _agent(scene)
    if not in_pod(workload):
        return
    if scene.placement.promises is None:
        yield "No kubelet was heard here: leave out what it has set already."
    if agent is not None:
        yield f"Cpusets are written by {agent} here: ask for the CPUs in its configuration."


def _precondition(may: Target) -> str:
    return f"{POLICY_NEEDS}; then bind CPUs alone: taskset -c {may.cpu_list} COMMAND."
