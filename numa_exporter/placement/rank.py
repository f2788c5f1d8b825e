"""One rank, or the helpers of a workload together, set against its home."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from numa_exporter.model.ids import Dimension, NodeSet, RankKey
from numa_exporter.model.placement import CpuAccount, Ledger, Machine, PlacedProcess, Rank, Tally
from numa_exporter.model.processes import Cgroup
from numa_exporter.model.sample import Sample
from numa_exporter.model.thresholds import Settings
from numa_exporter.placement.accounts import Step, credited, step_of, window
from numa_exporter.placement.cpu import cpu_side
from numa_exporter.placement.interrupts import fired
from numa_exporter.placement.locality import covers_all, localities, memory_home_of
from numa_exporter.placement.memory import MemorySide, Share, memory_side
from numa_exporter.placement.misalignment import cpu_shares, gpu_spread, memory_shares, ratios
from numa_exporter.placement.ownership import Member


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What every rank of one sample is placed against. ``shared_by``: how many ranks map a segment of shared memory."""

    sample: Sample
    machine: Machine
    ledger: Ledger
    settings: Settings
    interrupts: Tally[tuple[str, int]] | None
    shared_by: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cast:
    """Who is to be placed: the members of a rank, its GPUs (none for helpers), its home.

    ``beside``: the GPUs whose memory nodes are ``device`` to it. ``exact``: v1's exact CPU time of the container, where
    that is the rank's alone.
    """

    key: RankKey
    gpus: tuple[str, ...]
    beside: tuple[str, ...]
    home: NodeSet
    members: Sequence[Member]
    cgroup: Cgroup | None
    exact: Step | None = None


def place_rank(scene: Scene, cast: Cast) -> tuple[Rank, CpuAccount]:
    """The rank, and its CPU account after this sample."""
    rank, account = _with_cpu(_identity(scene.machine, cast), scene, cast)
    rank, memory = _with_memory(rank, scene, cast)
    rank = _with_interrupts(rank, scene)
    shares: dict[Dimension, Share] = {}
    if rank.home and not rank.indistinct:
        mems = cast.cgroup.mems if cast.cgroup else None
        shares = {**cpu_shares(rank), **memory_shares(rank, scene.machine, memory, mems)}
    spread = gpu_spread(scene.machine, cast.gpus)
    found = ratios(shares if spread is None else {**shares, "gpu_spread": spread})
    misaligned = replace(
        rank,
        misalignment=found.ratio,
        half_width=found.half_width,
        remote=found.remote,
        considered=found.considered,
    )
    return misaligned, account


def _identity(machine: Machine, cast: Cast) -> Rank:
    members = sorted(cast.members, key=lambda member: (member.process.start_time or 0.0, member.process.key))
    started = [member.process.start_time for member in members if member.process.start_time is not None]
    indistinct = covers_all(machine, cast.home)
    return Rank(
        key=cast.key,
        gpus=cast.gpus,
        home=cast.home,
        memory_home=memory_home_of(machine, cast.home),
        processes=tuple(_placed(member) for member in members),
        low_confidence=_low_confidence(members),
        unjudged=_unjudged(machine, cast, indistinct),
        indistinct=indistinct,
        start_time=min(started, default=None),
        gpu_used_bytes=_used_bytes(members),
    )


def _with_cpu(rank: Rank, scene: Scene, cast: Cast) -> tuple[Rank, CpuAccount]:
    sample, machine = scene.sample, scene.machine
    by_process = sample.threads.by_process if sample.threads else {}
    keys = [process.key for process in rank.processes]
    account = credited(
        scene.ledger.accounts.get(rank.key),
        cast.exact or step_of(by_process, scene.ledger.marks, keys),
        localities(machine, rank.home),
        rank.home,
        sample.monotonic,
        scene.settings.thresholds.cpu_time_window_seconds,
    )
    spent, seconds = window(account)
    side = cpu_side(machine, rank.home, [by_process[key] for key in keys if key in by_process])
    placed = replace(
        rank,
        allowed_cpus=side.allowed,
        threads=side.ran,
        thread_groups=side.groups,
        thread_window=side.window,
        escaped_threads=side.escaped.threads if side.escaped else None,
        escaped_cores=side.escaped.cores if side.escaped else None,
        cpu=account.cpu,
        cpu_known=cast.exact is not None or any(key in by_process for key in keys),
        cpu_window=spent,
        cpu_window_seconds=seconds,
    )
    return placed, account


def _with_memory(rank: Rank, scene: Scene, cast: Cast) -> tuple[Rank, MemorySide]:
    read = scene.sample.memory.by_process if scene.sample.memory else {}
    side = memory_side([read[process.key] for process in rank.processes if process.key in read], scene.shared_by)
    placed = replace(
        rank,
        mapped=side.mapped,
        mapped_locality=localities(scene.machine, rank.memory_home, cast.beside),
        private_shmem=side.private_shmem,
        shared_shmem=side.shared_shmem,
        method=side.method,
        withheld=side.withheld,
        policy=side.policy,
        policy_bytes=side.policy_bytes,
    )
    return placed, side


def _with_interrupts(rank: Rank, scene: Scene) -> Rank:
    near = fired(scene.machine, rank.gpus, localities(scene.machine, rank.home), scene.interrupts)
    if near is None:
        return rank
    return replace(rank, interrupts=(near.remote, near.total), interrupts_window=near.seconds)


def _placed(member: Member) -> PlacedProcess:
    process, holdings = member.process, member.holdings.holdings
    return PlacedProcess(
        key=process.key,
        comm=process.comm,
        evidence=holdings[0].evidence if holdings else None,
        holdings=holdings,
        start_time=process.start_time,
        cpu_seconds_total=process.cpu_seconds,
    )


def _used_bytes(members: Iterable[Member]) -> int | None:
    """Used bytes of the main holdings together; None where one is not known, and for helpers."""
    used = [held.used_bytes for member in members for held in member.holdings.holdings if held.role == "main"]
    known = [count for count in used if count is not None]
    return sum(known) if used and len(known) == len(used) else None


def _low_confidence(members: Iterable[Member]) -> str | None:
    for member in members:
        if member.stale is not None:
            return f"NVML last listed its contexts {member.stale:.0f} s ago"
        if any(holding.evidence == "fd" for holding in member.holdings.holdings):
            return "known by open files only"
        if not member.holdings.sized:
            return "used bytes are not known"
    return None


def _unjudged(machine: Machine, cast: Cast, indistinct: bool) -> str | None:
    unknown = [uuid for uuid in cast.beside if not (gpu := machine.gpu(uuid)) or not gpu.affinity]
    several_nodes = sum(placed.kind == "cpu" for placed in machine.nodes) > 1
    spans = len({placed.socket for placed in machine.nodes if placed.id in cast.home}) > 1
    if not cast.home:
        return f"the affinity of {', '.join(unknown)} is unknown"
    if not machine.sockets and (several_nodes or indistinct):
        return "sockets are unknown"
    if spans and not all(member.holdings.sized for member in cast.members):
        return "used bytes are not known and its GPUs span sockets"
    return "home covers every socket" if indistinct else None
