"""One rank, or the helpers of a workload together, set against its home."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from numa_exporter.model.ids import Dimension, ProcessKey, RankKey
from numa_exporter.model.kubelet import Grant
from numa_exporter.model.names import Names
from numa_exporter.model.placement import CpuAccount, Ledger, Machine, PlacedProcess, Rank
from numa_exporter.model.processes import Cgroup, ProcessThreads
from numa_exporter.model.sample import Sample
from numa_exporter.model.thresholds import Settings
from numa_exporter.placement.accounts import Step, credited, step_of
from numa_exporter.placement.cpu import CpuSide, cpu_side
from numa_exporter.placement.interrupts import Fired
from numa_exporter.placement.locality import Home
from numa_exporter.placement.memory import MemorySide, Share, memory_side
from numa_exporter.placement.misalignment import cpu_shares, memory_shares, ratios
from numa_exporter.placement.ownership import Member


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What every rank of one sample is placed against. ``shared_by``: how many ranks map a segment of shared memory.
    ``names`` and ``grants`` are those of all containers."""

    sample: Sample
    machine: Machine
    ledger: Ledger
    settings: Settings
    shared_by: Mapping[str, int]
    names: Names = field(default_factory=Names)
    grants: tuple[Grant, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What follows from a set of GPUs: the home of whoever computes on them, the interrupts of the NICs beside them,
    how far they are spread."""

    home: Home
    interrupts: Fired | None = None
    spread: Share | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cast:
    """Who is to be placed: the members of a rank, its GPUs (none for helpers), the ground that they stand on.

    ``exact``: v1's exact CPU time of the container, where that is the rank's alone.
    """

    key: RankKey
    gpus: tuple[str, ...]
    ground: Ground
    members: Sequence[Member]
    cgroup: Cgroup | None
    exact: Step | None = None

    @property
    def home(self) -> Home:
        return self.ground.home


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sides:
    """Everything that one rank did, side by side."""

    account: CpuAccount
    by_process: Mapping[ProcessKey, ProcessThreads]
    cpu_known: bool
    cpu: CpuSide
    memory: MemorySide


def place_rank(scene: Scene, cast: Cast) -> tuple[Rank, CpuAccount]:
    """The rank, and its CPU account after this sample."""
    members = sorted(cast.members, key=lambda member: (member.process.start_time or 0.0, member.process.key.pid))
    sides = _sides(scene, cast, members)
    shares: dict[Dimension, Share] = {}
    if cast.home.nodes and not cast.home.indistinct:
        mems = cast.cgroup.mems if cast.cgroup else None
        shares.update(cpu_shares(sides.account, sides.cpu, cast.ground.interrupts))
        if cast.home.memory_nodes:
            shares.update(memory_shares(scene.machine, cast.home, sides.memory, mems))
    if cast.ground.spread is not None:
        shares["gpu_spread"] = cast.ground.spread
    return _rank(scene.machine, cast, members, sides, shares), sides.account


def _sides(scene: Scene, cast: Cast, members: Sequence[Member]) -> _Sides:
    sample, home = scene.sample, cast.home
    on_cpu = sample.threads.by_process if sample.threads else {}
    in_memory = sample.memory.by_process if sample.memory else {}
    keys = [member.process.key for member in members]
    account = credited(
        scene.ledger.accounts.get(cast.key),
        _from_zero(scene.machine, cast, cast.exact or step_of(on_cpu, scene.ledger.marks, keys)),
        home,
        sample.monotonic,
        scene.settings.thresholds.cpu_time_window_seconds,
    )
    return _Sides(
        account=account,
        by_process=on_cpu,
        cpu_known=cast.exact is not None or any(key in on_cpu for key in keys),
        cpu=cpu_side(scene.machine, home, [on_cpu[key] for key in keys if key in on_cpu]),
        memory=memory_side([in_memory[key] for key in keys if key in in_memory], scene.shared_by),
    )


def _rank(
    machine: Machine, cast: Cast, members: Sequence[Member], sides: _Sides, shares: Mapping[Dimension, Share]
) -> Rank:
    home, cpu, memory, account, fired = cast.home, sides.cpu, sides.memory, sides.account, cast.ground.interrupts
    started = [member.process.start_time for member in members if member.process.start_time is not None]
    found = ratios(shares)
    return Rank(
        key=cast.key,
        gpus=cast.gpus,
        home=home.nodes,
        memory_home=home.memory_nodes,
        processes=tuple(_placed(member, sides.by_process.get(member.process.key)) for member in members),
        low_confidence=_low_confidence(members),
        unjudged=_unjudged(machine, cast),
        indistinct=home.indistinct,
        start_time=min(started, default=None),
        gpu_used_bytes=_used_bytes(members),
        allowed_cpus=cpu.allowed,
        threads=cpu.ran,
        thread_groups=cpu.groups,
        thread_window=cpu.window,
        escaped_threads=cpu.escaped.threads if cpu.escaped else None,
        escaped_cores=cpu.escaped.cores if cpu.escaped else None,
        cpu=account.cpu,
        cpu_known=sides.cpu_known,
        cpu_window=account.window,
        cpu_window_seconds=account.window_seconds,
        mapped=memory.mapped,
        mapped_locality=home.in_memory,
        private_shmem=memory.private_shmem,
        shared_shmem=memory.shared_shmem,
        method=memory.method,
        withheld=memory.withheld,
        policy=memory.policy,
        policy_bytes=memory.policy_bytes,
        misalignment=found.ratio,
        half_width=found.half_width,
        remote=found.remote,
        considered=found.considered,
        interrupts=(fired.remote, fired.total) if fired else None,
        interrupts_window=fired.seconds if fired else None,
    )


def _from_zero(machine: Machine, cast: Cast, step: Step) -> Step:
    """A counter that appears with its first increase hides it from rate(): a rank's start at 0 on each node with
    CPUs. Helpers are not judged, so they have no zeros."""
    known = cast.home.nodes and cast.key.uuid is not None
    zeros = {placed.id: 0.0 for placed in machine.nodes if placed.kind == "cpu"} if known else {}
    return Step(seconds={**zeros, **step.seconds}, moved_seconds=step.moved_seconds)


def _placed(member: Member, threads: ProcessThreads | None) -> PlacedProcess:
    process, holdings = member.process, member.holdings.holdings
    return PlacedProcess(
        key=process.key,
        comm=process.comm,
        evidence=holdings[0].evidence if holdings else None,
        holdings=holdings,
        start_time=process.start_time,
        cpu_seconds_total=process.cpu_seconds,
        cpu_seconds=threads.cpu_seconds if threads else None,
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


def _unjudged(machine: Machine, cast: Cast) -> str | None:
    home = cast.home
    if not home.nodes:
        return "the affinity of a GPU is unknown"
    if not machine.sockets and (home.indistinct or sum(placed.kind == "cpu" for placed in machine.nodes) > 1):
        return "sockets are unknown"
    if not all(member.holdings.sized for member in cast.members) and _spans_sockets(machine, home):
        return "used bytes are not known and its GPUs span sockets"
    return "home covers every socket" if home.indistinct else None


def _spans_sockets(machine: Machine, home: Home) -> bool:
    return len({placed.socket for placed in machine.nodes if placed.id in home.nodes}) > 1
