"""CPU time of ranks: the deltas of their processes, credited once, in sums that never fall.

A rank keeps its account when its processes end, and for an hour after its last process: a restarted engine has the
same key and goes on where it stopped.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from numa_exporter.model.ids import ProcessKey, RankKey
from numa_exporter.model.placement import CpuAccount, CpuTime, ProcessMark
from numa_exporter.model.processes import ProcessThreads
from numa_exporter.placement.locality import Home

KEPT_SECONDS = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """CPU seconds of the last interval by node, and the part whose thread moved between nodes meanwhile."""

    seconds: Mapping[int, float] = field(default_factory=dict)
    moved_seconds: float = 0.0


def step_of(
    threads: Mapping[ProcessKey, ProcessThreads], marks: Mapping[ProcessKey, ProcessMark], own: Iterable[ProcessKey]
) -> Step:
    """What these processes used since their marks. Their figures begin at 0 where the agent first saw them."""
    seconds: dict[int, float] = {}
    moved = 0.0
    for key in own:
        now, mark = threads.get(key), marks.get(key, ProcessMark())
        if now is None:
            continue
        moved += max(0.0, now.moved_seconds - mark.moved_seconds)
        for node, total in now.cpu_seconds.items():
            seconds[node] = seconds.get(node, 0.0) + max(0.0, total - mark.seconds.get(node, 0.0))
    return Step(seconds=seconds, moved_seconds=moved)


def marked(
    threads: Mapping[ProcessKey, ProcessThreads],
    marks: Mapping[ProcessKey, ProcessMark],
    living: Iterable[ProcessKey],
) -> dict[ProcessKey, ProcessMark]:
    """The marks after this sample, of the living alone."""
    found: dict[ProcessKey, ProcessMark] = {}
    for key in living:
        now = threads.get(key)
        if now is not None:
            found[key] = ProcessMark(seconds=now.cpu_seconds, moved_seconds=now.moved_seconds)
        elif key in marks:
            found[key] = marks[key]
    return found


def credited(
    account: CpuAccount | None,
    step: Step,
    home: Home,
    now: float,
    window_seconds: float,
) -> CpuAccount:
    """The account after an interval. ``now`` is monotonic."""
    before = account.cpu if account else CpuTime()
    seconds = dict(before.seconds)
    for node, spent in step.seconds.items():
        key = (node, home.on_cpu.get(node))
        seconds[key] = seconds.get(key, 0.0) + spent
    cpu = CpuTime(seconds=seconds, moved_seconds=before.moved_seconds + step.moved_seconds)
    looks = account.looks if account and account.home == home.nodes else ()
    recent = (*_recent(looks, now - window_seconds), (now, cpu))
    then, at_first = recent[0]
    return CpuAccount(
        home=home.nodes,
        seen_at=now,
        cpu=cpu,
        looks=recent,
        window=_difference(cpu, at_first),
        window_seconds=now - then,
    )


def kept(accounts: Mapping[RankKey, CpuAccount], now: float) -> dict[RankKey, CpuAccount]:
    """The accounts without those of ranks that are long gone."""
    return {key: account for key, account in accounts.items() if now - account.seen_at <= KEPT_SECONDS}


def _difference(cpu: CpuTime, before: CpuTime) -> CpuTime:
    spent = {key: seconds - before.seconds.get(key, 0.0) for key, seconds in cpu.seconds.items()}
    return CpuTime(
        seconds={key: seconds for key, seconds in spent.items() if seconds > 0},
        moved_seconds=cpu.moved_seconds - before.moved_seconds,
    )


def _recent(looks: Sequence[tuple[float, CpuTime]], since: float) -> Sequence[tuple[float, CpuTime]]:
    """The looks from the last one that covers the whole window."""
    first = max((index for index, (moment, _) in enumerate(looks) if moment <= since), default=0)
    return looks[first:]
