"""What to type. Exact CPUs and nodes; engine flags first, then the container, then numactl.

Never `--preferred` (95 to 100 % remote beside a full page cache), never zone_reclaim_mode (helps on 6.1, not on 6.12),
never migratepages on what a driver may have pinned: a bind at the start, and CPUs alone where policies are blocked.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from numa_exporter.findings import words
from numa_exporter.findings.engines import CHECKED, Engine, engine_of
from numa_exporter.findings.scene import Scene
from numa_exporter.formats import idlist
from numa_exporter.model.ids import CpuSet, NodeSet
from numa_exporter.model.placement import Machine, Rank, Workload

DROP_CACHE = "sync; echo 1 > /proc/sys/vm/drop_caches"
GIB = 1 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """What to type, one form a line, the best first; and what that needs and may bring."""

    remedy: str
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where a rank belongs: the CPUs and memory nodes of its home."""

    cpus: CpuSet
    mems: NodeSet

    @property
    def cpu_list(self) -> str:
        return idlist.render(self.cpus)

    @property
    def mem_list(self) -> str:
        return idlist.render(self.mems)

    def within(self, workload: Workload) -> "Target":
        """What of it the container may use: more than that, numactl refuses."""
        cgroup = workload.cgroup
        return Target(
            cpus=self.cpus if not cgroup or cgroup.cpus is None else self.cpus & cgroup.cpus,
            mems=self.mems if not cgroup or cgroup.mems is None else self.mems & cgroup.mems,
        )


def target(machine: Machine, rank: Rank) -> Target:
    return Target(cpus=words.cpus_of(machine, rank.home), mems=rank.memory_home)


def bind(scene: Scene, workload: Workload, rank: Rank) -> Advice:
    """CPUs and memory together, before the engine starts."""
    home, engine = target(scene.machine, rank), engine_of(rank)
    may = home.within(workload)
    forms = [*_engine(scene.machine, workload, rank, engine), *_container(scene.machine, workload, home)]
    if may.cpus and may.mems:
        forms.append(f"numactl --physcpubind={may.cpu_list} --membind={may.mem_list} COMMAND")
    lines = [*_drop_cache(scene.machine, rank), *_alternatives(forms)]
    return Advice(remedy="\n".join(lines), note=_said(_bind_notes(engine, may), effect(scene, rank)))


def bind_cpus(scene: Scene, workload: Workload, rank: Rank) -> Advice:
    """CPUs alone: no policy, no precondition."""
    home, engine = target(scene.machine, rank), engine_of(rank)
    may = home.within(workload)
    forms = [*_engine(scene.machine, workload, rank, engine), *_container(scene.machine, workload, home)]
    if may.cpus:
        forms.append(f"taskset -c {may.cpu_list} COMMAND")
    notes = ["Bind at the start, so that memory is allocated there too."]
    if engine and engine.memory_policy and may.cpus:
        notes.append(_precondition(may))
    return Advice(
        remedy="\n".join(_alternatives(forms)), note=_said([*_engine_notes(engine), *notes], effect(scene, rank))
    )


def container(scene: Scene, workload: Workload, rank: Rank) -> Advice:
    """The container's own limits, where one home fits all of it; else what its ranks can do themselves."""
    forms = [*_container(scene.machine, workload, target(scene.machine, rank))]
    if not forms:
        forms = [
            f"# allow {workload.key} the CPUs of every home, {_homes(scene.machine, workload)}, then bind each rank"
        ]
    return Advice(remedy="\n".join(_alternatives(forms)), note=effect(scene, rank))


def effect(scene: Scene, rank: Rank) -> str:
    """What may be expected, never more than a guess: placement matters to what is copied to the GPU."""
    placed = [scene.machine.gpu(uuid) for uuid in rank.gpus]
    if any(gpu and gpu.gpu.c2c for gpu in placed):
        return "Effect unknown: its GPU is attached by C2C, which is not counted."
    rates = [scene.received(uuid) for uuid in rank.gpus]
    known = [rate for rate in rates if rate is not None]
    if not rates or len(known) < len(rates):
        return "Effect unknown: bytes to the GPU over PCIe are not counted."
    flow = f"{words.size(sum(known))}/s over PCIe in the last {words.span(scene.window)}"
    if sum(known) < scene.limits.small_flow * len(known):
        return f"Effect unlikely: {words.gpus(scene.machine, rank.gpus)} received only {flow}."
    return f"{words.gpus(scene.machine, rank.gpus)} received {flow}: measure before and after."


def _engine(machine: Machine, workload: Workload, rank: Rank, engine: Engine | None) -> Iterator[str]:
    if engine is None:
        return
    placed = [gpu for gpu in machine.gpus if gpu.uuid in workload.gpus and gpu.affinity]
    if engine.per == "engine":
        yield engine.flag.format(nodes=" ".join(str(gpu.affinity[0]) for gpu in placed))
        return
    own = [(number, gpu) for number, gpu in enumerate(placed) if gpu.uuid in rank.gpus]
    yield "tritonserver ... " + " ".join(
        engine.flag.format(gpu=number, node=gpu.affinity[0], cpus=idlist.render(words.cpus_of(machine, gpu.affinity)))
        for number, gpu in own
    )


def _container(machine: Machine, workload: Workload, home: Target) -> Iterator[str]:
    """The container's form; nothing where its ranks have different homes, for then it must span them all."""
    if any(target(machine, rank) != home for rank in workload.ranks):
        return
    unit = workload.key.unit or ""
    kind, _, name = unit.partition("/")
    if workload.pod_uid or workload.key.pod:
        yield "kubelet: cpuManagerPolicy: static, memoryManagerPolicy: Static, topologyManagerPolicy: single-numa-node"
        yield "pod spec: Guaranteed, requests equal to limits, whole CPUs (the kubelet binds no other pod)"
    elif kind in ("docker", "podman"):
        yield f"{kind} run --cpuset-cpus={home.cpu_list} --cpuset-mems={home.mem_list} ... # {name}"
    elif kind == "slurm":
        yield "sbatch --gres-flags=enforce-binding; srun --mem-bind=local ..."
    elif unit.endswith((".service", ".scope", ".slice")):
        # Stopped first: writing cpuset.mems under a living process makes the kernel move its pages.
        limits = f"AllowedCPUs={home.cpu_list} AllowedMemoryNodes={home.mem_list}"
        yield f"systemctl stop {unit}; systemctl set-property {unit} {limits}; systemctl start {unit}"


def _alternatives(forms: list[str]) -> Iterator[str]:
    for number, form in enumerate(forms):
        yield form if number == 0 else f"# or: {form}"


def _drop_cache(machine: Machine, rank: Rank) -> Iterator[str]:
    """A home node full of clean page cache pushes new memory to the other one: empty it before the start."""
    need = max(GIB, int(rank.remote.get("memory", 0)))
    for placed in machine.nodes:
        memory = placed.node.memory
        if placed.id not in rank.memory_home or memory is None or memory.free_bytes is None:
            continue
        if memory.free_bytes < need <= memory.free_bytes + (memory.reclaimable_bytes or 0):
            cache = words.size(memory.reclaimable_bytes or 0)
            yield f"{DROP_CACHE}  # before the start: {cache} of page cache fill node {placed.id}"
            return


def _bind_notes(engine: Engine | None, may: Target) -> list[str]:
    notes = [*_engine_notes(engine)]
    if may.cpus:
        notes.append(_precondition(may))
    return [*notes, "Restart it: pinned pages stay where they are."]


def _engine_notes(engine: Engine | None) -> Iterator[str]:
    if engine is not None:
        yield f"{engine.name} flags as of {CHECKED}. {engine.note}".rstrip()


def _precondition(may: Target) -> str:
    return (
        "A memory policy needs a profile that allows set_mempolicy: blocked, the worker dies; "
        f"then bind CPUs alone: taskset -c {may.cpu_list} COMMAND."
    )


def _homes(machine: Machine, workload: Workload) -> str:
    every = words.cpus_of(machine, frozenset().union(*(rank.home for rank in workload.ranks)))
    return idlist.render(every)


def _said(notes: list[str], outcome: str) -> str:
    return " ".join([*notes, outcome])
