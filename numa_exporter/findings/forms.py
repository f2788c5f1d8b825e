"""The forms that a binding can take, each one line: an engine's flags, a container's limits, an emptied page cache."""

from collections.abc import Iterator
from dataclasses import dataclass

from numa_exporter.findings import words
from numa_exporter.findings.engines import Engine
from numa_exporter.formats import idlist
from numa_exporter.model.ids import CpuSet, NodeSet
from numa_exporter.model.placement import Machine, Rank, Workload

DROP_CACHE = "sync; echo 1 > /proc/sys/vm/drop_caches"
GIB = 1 << 30


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
        """What of it the container may use: more than that, numactl refuses."""
        cgroup = workload.cgroup
        return Target(
            cpus=self.cpus if not cgroup or cgroup.cpus is None else self.cpus & cgroup.cpus,
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


def container_forms(machine: Machine, workload: Workload) -> Iterator[str]:
    """The container's limits; nothing where its ranks have different homes, for then it must span them all."""
    homes = {target(machine, rank) for rank in workload.ranks}
    if len(homes) == 1:
        yield from limit_forms(workload, homes.pop())


def limit_forms(workload: Workload, to: Target) -> Iterator[str]:
    """How the runtime that started it is told CPUs and memory nodes."""
    unit = workload.key.unit or ""
    kind, _, name = unit.partition("/")
    if workload.pod_uid or workload.key.pod:
        yield "kubelet: cpuManagerPolicy: static, memoryManagerPolicy: Static, topologyManagerPolicy: single-numa-node"
        yield "pod spec: Guaranteed, requests equal to limits, whole CPUs (the kubelet binds no other pod)"
    elif kind in ("docker", "podman"):
        yield f"{kind} run --cpuset-cpus={to.cpu_list} --cpuset-mems={to.mem_list} ...  # {name}"
    elif kind == "slurm":
        yield "sbatch --gres-flags=enforce-binding; srun --mem-bind=local ..."
    elif unit.endswith(".service") and not unit.startswith("user@") and not _on_v1(workload):
        # On v2 alone. Stopped first: writing cpuset.mems under a living process makes the kernel move its pages.
        # Never a scope or a user's manager: stopping those ends sessions.
        limits = f"AllowedCPUs={to.cpu_list} AllowedMemoryNodes={to.mem_list}"
        yield f"systemctl stop {unit}; systemctl set-property {unit} {limits}; systemctl start {unit}"


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
