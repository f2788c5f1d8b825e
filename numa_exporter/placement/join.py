"""The join: what a Sample means. The one value that every reader of a host gets."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial

from numa_exporter.formats.pci_address import PciAddress
from numa_exporter.model.ids import ProcessKey, RankKey
from numa_exporter.model.kubelet import Promises
from numa_exporter.model.names import Names
from numa_exporter.model.placement import CpuAccount, Ledger, Machine, Placement, ProcessMark, Rank, Tally, Workload
from numa_exporter.model.processes import Cgroup
from numa_exporter.model.sample import Sample
from numa_exporter.model.thresholds import Settings
from numa_exporter.placement import stuck
from numa_exporter.placement.accounts import Step, kept, marked
from numa_exporter.placement.grants import grant_of
from numa_exporter.placement.interrupts import fired, near_nics
from numa_exporter.placement.locality import cpus_counted, home
from numa_exporter.placement.machine import place_machine
from numa_exporter.placement.memory import sharers
from numa_exporter.placement.misalignment import gpu_spread
from numa_exporter.placement.naming import Keys, job_of, keys
from numa_exporter.placement.ownership import ownership
from numa_exporter.placement.plan import Plan, plans
from numa_exporter.placement.promises import promises
from numa_exporter.placement.rank import Cast, Ground, Scene, place_rank
from numa_exporter.placement.tally import advance

Grounds = Callable[[tuple[str, ...]], Ground]
CgroupTally = Tally[tuple[str, int]] | None


def join(sample: Sample, ledger: Ledger, settings: Settings) -> Placement:
    """The placement of a sample. ``ledger`` is what the join of the sample before left, an empty one at first."""
    if sample.topology is None:
        return _nothing(sample, ledger)
    machine, tallies = place_machine(sample, sample.topology, stuck.known_gpus(sample, ledger), ledger)
    holdings = stuck.holdings(sample, ledger)
    promised = promises(sample, machine, settings)
    names = sample.names or Names()
    called = _keys(sample, names, promised, ledger)
    owners = ownership(sample, machine, ledger, holdings, called, settings)
    planned = plans(owners.members)
    scene = Scene(
        sample=sample,
        machine=machine,
        ledger=ledger,
        settings=settings,
        shared_by=_sharers(planned, sample),
        names=names,
        grants=promised.grants if promised else (),
    )
    cgroups = _cgroup_seconds(sample, machine.node_of_cpu, ledger.cgroups)
    observed = frozenset(observer.workload for observer in owners.observers)
    # Hundreds of containers stand on a handful of grounds between them.
    grounds: Grounds = cache(partial(_ground, machine, near_nics(machine), tallies.interrupts))
    placed = [_place(scene, grounds, plan, cgroups if plan.key not in observed else None) for plan in planned]
    accounts = {key: account for _, own in placed for key, account in own.items()}
    return replace(
        _nothing(sample, ledger),
        machine=machine,
        workloads=tuple(workload for workload, _ in placed),
        observers=owners.observers,
        attribution=owners.attribution,
        promises=promised,
        ledger=Ledger(
            accounts=kept({**ledger.accounts, **accounts}, sample.monotonic),
            marks=_marks(sample, ledger),
            cgroups=cgroups,
            cpus=tallies.cpus,
            interrupts=tallies.interrupts,
            events=tallies.events,
            holdings=holdings,
            gpus=sample.gpus or ledger.gpus,
            gpus_at=sample.taken_at if sample.gpus else ledger.gpus_at,
            keys=called,
        ),
    )


def _nothing(sample: Sample, ledger: Ledger) -> Placement:
    return Placement(
        host=sample.host,
        taken_at=sample.taken_at,
        monotonic=sample.monotonic,
        machine=None,
        ledger=ledger,
        cgroup_layout=sample.cgroups.layout if sample.cgroups else None,
        sampling=sample.memory.sampling if sample.memory else None,
    )


def _ground(
    machine: Machine,
    nics: Mapping[str, frozenset[PciAddress]],
    interrupts: Tally[tuple[PciAddress, int]] | None,
    gpus: tuple[str, ...],
) -> Ground:
    own = home(machine, gpus)
    return Ground(home=own, interrupts=fired(nics, gpus, own, interrupts), spread=gpu_spread(machine, gpus))


def _place(
    scene: Scene, grounds: Grounds, plan: Plan, exact: CgroupTally
) -> tuple[Workload, dict[RankKey, CpuAccount]]:
    cgroup = _cgroup(scene.sample, plan.directory)
    nodes = [placed.id for placed in scene.machine.nodes]
    placed = [place_rank(scene, cast) for cast in _casts(grounds, plan, cgroup, exact, nodes)]
    ranks = tuple(rank for rank, _ in placed if rank.key.uuid is not None)
    helpers: Rank | None = next((rank for rank, _ in placed if rank.key.uuid is None), None)
    whole = grounds(plan.gpus).home
    workload = Workload(
        key=plan.key,
        pod_uid=plan.path.pod_uid,
        container_id=plan.path.container_id,
        runtime=plan.path.runtime or scene.names.runtimes.get(plan.path.container_id or ""),
        qos_class=plan.path.qos_class,
        slurm_job_id=job_of(plan.path, scene.names),
        slurm_step=plan.path.slurm_step,
        cgroup=cgroup,
        ranks=ranks,
        helpers=helpers,
        gpus=tuple(sorted({uuid for rank in ranks for uuid in rank.gpus})),
        cpuset_by_locality=(
            cpus_counted(whole, cgroup.cpus) if cgroup and cgroup.cpus is not None and whole.nodes else None
        ),
        notes=plan.groups.notes,
        grant=grant_of(scene.grants, plan.path.pod_uid, plan.key.container, plan.path.container_id),
    )
    return workload, {rank.key: account for rank, account in placed}


def _casts(
    grounds: Grounds, plan: Plan, cgroup: Cgroup | None, exact: CgroupTally, nodes: Iterable[int]
) -> Iterable[Cast]:
    groups = plan.groups
    alone = len(groups.ranks) == 1 and not groups.helpers
    for group in groups.ranks:
        gpus = tuple(sorted(group.gpus))
        yield Cast(
            key=RankKey(workload=plan.key, uuid=group.uuid),
            gpus=gpus,
            ground=grounds(gpus),
            members=group.members,
            cgroup=cgroup,
            exact=_exact(exact, cgroup, nodes) if alone else None,
        )
    if groups.helpers:
        yield Cast(
            key=RankKey(workload=plan.key, uuid=None),
            gpus=(),
            ground=Ground(home=grounds(plan.gpus).home),
            members=groups.helpers,
            cgroup=cgroup,
        )


def _cgroup(sample: Sample, directory: str | None) -> Cgroup | None:
    return sample.cgroups.by_path.get(directory) if sample.cgroups and directory is not None else None


def _cgroup_seconds(sample: Sample, node_of_cpu: Mapping[int, int], before: CgroupTally) -> CgroupTally:
    """v1's cpuacct.usage_percpu of every container, by node; v2 has no such file."""
    seconds: dict[tuple[str, int], float] = {}
    for cgroup in sample.cgroups.by_path.values() if sample.cgroups else ():
        for cpu, used in (cgroup.cpu_seconds or {}).items():
            node = node_of_cpu.get(cpu)
            if node is not None:
                seconds[cgroup.path, node] = seconds.get((cgroup.path, node), 0.0) + used
    # The containers' own totals are nobody's business, and would outlive them.
    return replace(advance(before, seconds, sample.monotonic), total={}) if seconds else None


def _exact(tally: CgroupTally, cgroup: Cgroup | None, nodes: Iterable[int]) -> Step | None:
    """What the container used in the last interval; None where the kernel has no figures, or on their first sight."""
    if tally is None or cgroup is None or cgroup.cpu_seconds is None:
        return None
    used = {node: tally.step[cgroup.path, node] for node in nodes if (cgroup.path, node) in tally.step}
    return Step(seconds=used) if used else None


def _sharers(planned: Sequence[Plan], sample: Sample) -> Mapping[str, int]:
    ranks = ([member.process.key for member in rank.members] for plan in planned for rank in plan.groups.ranks)
    return sharers(ranks, sample.memory.by_process if sample.memory else {})


def _keys(sample: Sample, names: Names, promised: Promises | None, ledger: Ledger) -> Keys:
    if sample.processes is None:
        return ledger.keys
    return keys(sample.processes.processes, names, promised.grants if promised else (), ledger.keys)


def _marks(sample: Sample, ledger: Ledger) -> Mapping[ProcessKey, ProcessMark]:
    if sample.processes is None:
        return ledger.marks
    living = (process.key for process in sample.processes.processes)
    return marked(sample.threads.by_process if sample.threads else {}, ledger.marks, living)
