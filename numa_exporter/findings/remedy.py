"""What to type. Exact CPUs and nodes; engine flags first, then the container, then numactl.

A policy is always a bind at the start: preferring is 95 to 100 % remote beside a full page cache, zone reclaim helps on
6.1 and not on 6.12, and pages that a driver may have pinned are never migrated. CPUs alone where policies are blocked.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from numa_exporter.findings import words
from numa_exporter.findings.effect import effect
from numa_exporter.findings.engines import CHECKED, Engine, engine_of
from numa_exporter.findings.forms import Target, container_forms, drop_cache, engine_forms, limit_forms, target
from numa_exporter.findings.scene import Scene
from numa_exporter.formats import idlist
from numa_exporter.model.placement import Rank, Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """What to type, one form a line, the best first; and what that needs and may bring."""

    remedy: str
    note: str


def bind(scene: Scene, workload: Workload, rank: Rank) -> Advice:
    """CPUs and memory together, before the engine starts."""
    engine, may = engine_of(rank), target(scene.machine, rank).within(workload)
    forms = _own_forms(scene, workload, rank, engine)
    notes = [*_engine_notes(engine)]
    if may.cpus and may.mems:
        forms.append(f"numactl --physcpubind={may.cpu_list} --membind={may.mem_list} COMMAND")
        notes.append(_precondition(may))
    notes.append("Restart it: pinned pages stay where they are.")
    lines = [*drop_cache(scene.machine, rank), *_alternatives(forms)]
    return Advice(remedy="\n".join(lines), note=" ".join([*notes, effect(scene, rank)]))


def bind_cpus(scene: Scene, workload: Workload, rank: Rank) -> Advice:
    """CPUs alone: no policy, no precondition."""
    engine, may = engine_of(rank), target(scene.machine, rank).within(workload)
    forms = _own_forms(scene, workload, rank, engine)
    notes = [*_engine_notes(engine), "Bind at the start, so that memory is allocated there too."]
    if may.cpus:
        forms.append(f"taskset -c {may.cpu_list} COMMAND")
        if engine and engine.memory_policy:
            notes.append(_precondition(may))
    return Advice(remedy="\n".join(_alternatives(forms)), note=" ".join([*notes, effect(scene, rank)]))


def container(scene: Scene, workload: Workload, rank: Rank) -> Advice:
    """The container's own limits, where one home fits all of it."""
    forms = list(container_forms(scene.machine, workload))
    if not forms:
        homes = frozenset(node for one in workload.ranks for node in one.home)
        every = idlist.render(words.cpus_of(scene.machine, homes))
        forms = [f"# allow {workload.key} the CPUs of each of its homes, {every}, and bind each rank to its own"]
    return Advice(remedy="\n".join(_alternatives(forms)), note=effect(scene, rank))


def limits(scene: Scene, workload: Workload, to: Target) -> Advice:
    """A container's limits that are not the home of a rank."""
    forms = list(limit_forms(workload, to)) or [f"# cpuset of {workload.key}: mems {to.mem_list}"]
    return Advice(remedy="\n".join(_alternatives(forms)), note=effect(scene, workload.ranks[0]))


def _own_forms(scene: Scene, workload: Workload, rank: Rank, engine: Engine | None) -> list[str]:
    limits = list(container_forms(scene.machine, workload))
    may = target(scene.machine, rank).within(workload)
    if not (may.cpus and may.mems):
        # An engine cannot bind itself to what its container may not use: the limits come first, then a restart.
        return limits
    return [*engine_forms(scene.machine, workload, rank, engine), *limits]


def _alternatives(forms: Iterable[str]) -> Iterator[str]:
    for number, form in enumerate(forms):
        yield form if number == 0 else f"# or: {form}"


def _engine_notes(engine: Engine | None) -> Iterator[str]:
    if engine is not None:
        yield f"{engine.name} flags as of {CHECKED}. {engine.note}".rstrip()


def _precondition(may: Target) -> str:
    return (
        "A memory policy needs a profile that allows set_mempolicy: blocked, the worker dies; "
        f"then bind CPUs alone: taskset -c {may.cpu_list} COMMAND."
    )
