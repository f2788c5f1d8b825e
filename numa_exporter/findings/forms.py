"""The forms that a binding can take: an engine's flags, a container's or a unit's limits, an emptied page cache.

A form is what somebody pastes: a command, a piece of YAML, a drop-in. Comments in it say where it belongs.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from shlex import quote

from numa_exporter.findings import words
from numa_exporter.findings.engines import Engine
from numa_exporter.findings.kubernetes_forms import kubernetes_forms
from numa_exporter.findings.scene import Scene
from numa_exporter.formats import idlist
from numa_exporter.model.ids import CpuSet, NodeSet
from numa_exporter.model.placement import Machine, Rank, Workload

DROP_CACHE = "sync; echo 1 > /proc/sys/vm/drop_caches"
POLICY_NEEDS = "A memory policy needs a profile that allows set_mempolicy: blocked, the process dies"
GIB = 1 << 30
_PLAIN = re.compile(r"[A-Za-z0-9:_.@\\-]+")
"""Names that a shell and a comment take as they are. Whoever may make a cgroup chooses its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where something belongs: CPUs and memory nodes."""

    cpus: CpuSet
    mems: NodeSet

    @property
    def cpu_list(self) -> str:
        return idlist.render(self.cpus)

    @property
    def mem_list(self) -> str:
        return idlist.render(self.mems)

    def within(self, workload: Workload) -> "Target":
        """What of it the container may use: more than that, numactl refuses. Where its grant is broken, what it may use
        now and will when it has the grant again."""
        cgroup, own = workload.cgroup, workload.grant.cpus if workload.grant else frozenset()
        cpus = self.cpus & own if own else self.cpus
        return Target(
            cpus=cpus if not cgroup or cgroup.cpus is None else cpus & cgroup.cpus,
            mems=self.mems if not cgroup or cgroup.mems is None else self.mems & cgroup.mems,
        )


def target(machine: Machine, rank: Rank) -> Target:
    """The home of a rank."""
    return Target(cpus=words.cpus_of(machine, rank.home), mems=rank.memory_home)


def engine_forms(machine: Machine, workload: Workload, rank: Rank, engine: Engine | None) -> Iterator[str]:
    """The engine's own flags, with the node of each of the container's GPUs in order of their PCI addresses."""
    placed = [gpu for gpu in machine.gpus if gpu.uuid in workload.gpus and gpu.affinity]
    if engine is None or not placed:
        return
    if engine.per == "engine":
        yield engine.flag.format(nodes=" ".join(str(gpu.affinity[0]) for gpu in placed))
        return
    own = [(number, gpu) for number, gpu in enumerate(placed) if gpu.uuid in rank.gpus]
    flags = (
        engine.flag.format(gpu=number, node=gpu.affinity[0], cpus=idlist.render(words.cpus_of(machine, gpu.affinity)))
        for number, gpu in own
    )
    yield " ".join((engine.command, *flags))


def container_forms(scene: Scene, workload: Workload) -> Iterator[str]:
    """The container's limits; nothing where its ranks have different homes, for then it must span them all."""
    homes = {target(scene.machine, rank) for rank in workload.ranks}
    if len(homes) == 1:
        yield from limit_forms(scene, workload, homes.pop())


def limit_forms(scene: Scene, workload: Workload, to: Target) -> Iterator[str]:
    """How the runtime that started it is told CPUs and memory nodes."""
    unit = workload.key.unit or ""
    kind, _, name = unit.partition("/")
    if in_pod(workload):
        yield from kubernetes_forms(scene.machine, scene.placement.promises, workload)
    elif kind in ("docker", "podman"):
        beside = f"  # {name}" if _PLAIN.fullmatch(name) else ""
        mems = f" --cpuset-mems={to.mem_list}" if to.mems else ""
        yield f"{kind} run --cpuset-cpus={to.cpu_list}{mems} ...{beside}"
    elif kind == "slurm":
        yield "sbatch --gres-flags=enforce-binding ...\nsrun --mem-bind=local ..."
    elif _PLAIN.fullmatch(unit) and unit.endswith(".service") and not unit.startswith("user@"):
        # Never a scope or a user's manager: stopping those ends sessions.
        yield drop_in(unit, to, v1=_on_v1(workload))


def drop_in(unit: str, to: Target, *, v1: bool) -> str:
    """Written while the unit is stopped: the kernel moves the pages of a living process to its new cpuset.mems.

    systemd sets a unit's cpuset on cgroup v2 alone; on v1 it gives the process a mask and a policy.
    """
    cpus = f"CPUAffinity={to.cpu_list}" if v1 else f"AllowedCPUs={to.cpu_list}"
    mems = ("NUMAPolicy=bind", f"NUMAMask={to.mem_list}") if v1 else (f"AllowedMemoryNodes={to.mem_list}",)
    lines = (cpus, *(mems if to.mems else ()))  # an empty list would take limits away
    name = quote(unit)  # a backslash of systemd's escaping (\\x2d) is the shell's too
    how = f"# systemctl stop {name}; then systemctl edit {name} (a drop-in of these lines); then systemctl start {name}"
    return "\n".join((how, "[Service]", *lines))


def in_pod(workload: Workload) -> bool:
    return bool(workload.pod_uid or workload.key.pod)


def drop_cache(machine: Machine, rank: Rank) -> Iterator[str]:
    """A home node full of clean page cache pushes new memory to the other one: empty it before the start."""
    need = max(GIB, int(rank.remote.get("memory", 0)))
    for placed in machine.nodes:
        memory = placed.node.memory
        if placed.id not in rank.memory_home or memory is None or memory.free_bytes is None:
            continue
        cache = memory.reclaimable_bytes or 0
        if memory.free_bytes < need <= memory.free_bytes + cache:
            yield f"{DROP_CACHE}  # before the start: {words.size(cache)} of page cache fill node {placed.id}"
            return


def _on_v1(workload: Workload) -> bool:
    return workload.cgroup is not None and workload.cgroup.version == 1
