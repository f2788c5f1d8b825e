"""When a dimension is against the grain, when it is not judged, and when it clears again."""

from dataclasses import replace

import pytest

from numa_exporter.model.ids import Backing
from numa_exporter.model.processes import ClassEstimate, MappedMemory
from numa_exporter.model.report import Judgement, Verdict
from numa_exporter.model.thresholds import Settings, Thresholds
from tests.builders import (
    GIB,
    MIB,
    NOON,
    Parts,
    Task,
    gpu,
    node,
    nps4,
    placed,
    sample,
    single_node,
    task,
    topology,
    two_socket,
)
from tests.findings.machines import AWRY, GOOD, working
from tests.findings.watch import Script, key, last, of, under, verdict, watch

Pages = dict[Backing, dict[int, int]]


def holding(remote: float, total: int = 4 * GIB, **fields: object) -> Task:
    """A rank on GPU-0 with so much of its anonymous memory on node 1."""
    far = int(remote * total)
    pages: Pages = {"anon": {0: total - far, 1: far}}
    return task(1, gpus="GPU-0", mapped=pages, **fields)  # type: ignore[arg-type]


def script(*tasks: Task, parts: Parts | None = None, step: float = 15.0) -> Script:
    """One task at each evaluation, the last one for ever."""
    return lambda at: sample(parts or two_socket(), tasks[min(int(at / step), len(tasks) - 1)], at=at)


def memory(judged: list[Judgement]) -> list[Verdict]:
    return [verdict(one, "memory") for one in judged]


def test_three_consecutive_evaluations() -> None:
    judged = memory(watch(script(holding(0.5)), 45))
    assert [one.misaligned for one in judged] == [None, None, True, True]
    assert [one.not_judged for one in judged[:2]] == ["needs 3 looks"] * 2
    assert judged[3].since == NOON


def test_an_evaluation_that_is_not_bad_begins_again() -> None:
    tasks = holding(0.5), holding(0.5), holding(0.1), holding(0.5), holding(0.5)
    judged = memory(watch(script(*tasks), 60))
    assert [one.misaligned for one in judged] == [None, None, False, None, None]


@pytest.mark.parametrize(("ratio", "still"), [(0.11, True), (0.09, False)])
def test_it_clears_below_half_the_limit(ratio: float, still: bool) -> None:
    judged = memory(watch(script(*[holding(0.5)] * 3, holding(ratio)), 60))
    assert judged[-1].misaligned is still


def test_after_clearing_the_whole_limit_counts_again() -> None:
    judged = memory(watch(script(*[holding(0.5)] * 3, holding(0.05), holding(0.15)), 120))
    assert judged[-1].misaligned is False


def test_the_floor_is_absolute() -> None:
    few = script(holding(0.4, total=1 * GIB))  # 410 MiB
    assert verdict(last(few), "memory").misaligned is False


def test_small_ranks_are_not_judged() -> None:
    assert verdict(last(script(holding(0.9, total=900 * MIB))), "memory").not_judged == "under 1.0 GiB"


@pytest.mark.parametrize(
    ("started", "seconds", "reason"),
    [(NOON - 3600, 45, None), (NOON, 45, "too young"), (NOON, 180, "needs 3 looks"), (NOON, 210, None)],
)
def test_age_or_steady_gpu_memory(started: float, seconds: float, reason: str | None) -> None:
    assert memory(watch(script(holding(0.5, started=started)), seconds))[-1].not_judged == reason


def test_a_rank_whose_gpu_memory_grows_is_loading() -> None:
    def loading(at: float) -> Task:
        return task(1, gpus={"GPU-0": int(10 * GIB * (1 + at / 100))}, mapped=AWRY, started=NOON)

    judged = watch(lambda at: sample(two_socket(), loading(at), at=at), 585)
    assert {one.not_judged for one in memory(judged)} == {"too young"}
    assert not judged[-1].findings
    assert memory(watch(lambda at: sample(two_socket(), loading(at), at=at), 660))[-1].misaligned


def test_a_rank_without_used_bytes_is_judged_by_its_age() -> None:
    rank = task(1, gpus={"GPU-0": None}, mapped=AWRY, started=NOON)
    assert memory(watch(script(rank), 585))[-1].not_judged == "too young"
    judged = last(script(rank), 660)
    assert verdict(judged, "memory").misaligned
    assert of(judged, "memory_remote")[0].confidence == "low"


def test_cpu_time_needs_its_window() -> None:
    judged = [verdict(one, "cpu_time") for one in watch(working({1: 0.5}), 330)]
    assert {one.not_judged for one in judged[:20]} == {"needs 5 min"}
    assert judged[-1].misaligned


@pytest.mark.parametrize(
    ("cores", "expected"),
    [
        ({0: 0.80, 1: 0.20}, Verdict(misaligned=False)),  # below a quarter
        ({0: 0.15, 1: 0.09}, Verdict(misaligned=False)),  # below a tenth of a core
        ({1: 0.09}, Verdict(misaligned=None, not_judged="idle")),
    ],
)
def test_cpu_time_limits(cores: dict[int, float], expected: Verdict) -> None:
    assert verdict(last(working(cores)), "cpu_time") == expected


def test_what_moved_is_doubt() -> None:
    """45 % remote, but 60 % of the time was on threads that moved: 0.45 - 0.30 is below the limit."""

    def moving(at: float) -> Task:
        return task(1, gpus="GPU-0", cpu={0: 0.55 * at, 1: 0.45 * at}, moved=0.6 * at)

    assert verdict(last(lambda at: sample(two_socket(), moving(at), at=at)), "cpu_time").misaligned is False
    assert verdict(last(working({0: 0.55, 1: 0.45})), "cpu_time").misaligned is True


def sampled(samples: float) -> MappedMemory:
    share = ClassEstimate(resident_bytes=4 * GIB, shares={0: 0.5, 1: 0.5}, effective_samples=samples)
    pages: Pages = {"anon": {0: 2 * GIB, 1: 2 * GIB}}
    return MappedMemory(method="sample", mapped=pages, resident_bytes=4 * GIB, estimates={"anon": share})


def test_a_wide_error_is_no_verdict() -> None:
    wide, narrow = (replace(holding(0.5), memory=sampled(count)) for count in (100.0, 4000.0))
    assert verdict(last(script(wide)), "memory").not_judged == "error too wide"
    assert verdict(last(script(narrow)), "memory").misaligned


def test_a_withheld_reading_is_remembered_for_a_while() -> None:
    nothing = replace(holding(0.5), memory=MappedMemory(method="sample", mapped={}, withheld="sparse"))
    bad = [holding(0.5)] * 3
    short = memory(watch(script(*bad, *[nothing] * 10, holding(0.15)), 195))
    assert short[12].not_judged == "withheld"
    assert (short[-1].misaligned, short[-1].since) == (True, NOON)
    long = memory(watch(script(*bad, *[nothing] * 25, holding(0.15)), 420))
    assert long[-1].misaligned is False


def test_a_restarted_engine_starts_anew() -> None:
    young = holding(0.15, started=NOON + 45)
    judged = memory(watch(script(*[holding(0.5)] * 3, young), 750))
    assert judged[3].not_judged == "too young"
    assert judged[-1].misaligned is False


def test_nothing_is_remembered_of_ranks_that_are_gone() -> None:
    judged = watch(lambda at: sample(two_socket(), *([holding(0.5)] if at < 100 else []), at=at), 600)
    assert judged[5].memory.streaks
    assert not judged[-1].memory.streaks
    assert not judged[-1].memory.steady


def test_looks_are_pruned() -> None:
    looks = watch(script(holding(0.5)), 1200)[-1].memory.looks
    assert looks[-1].monotonic - looks[0].monotonic == 300


def test_one_socket_is_clean_at_once() -> None:
    rank = task(1, gpus="GPU-0", mapped=GOOD, started=NOON)
    first = watch(script(rank, parts=single_node()), 0)[0]
    assert all(one == Verdict(misaligned=False) for one in first.verdicts[key(first)].values())


@pytest.mark.parametrize(
    ("parts", "gpus", "reason"),
    [
        (two_socket(), {"GPU-0": 9 * GIB, "GPU-7": 9 * GIB}, "on all sockets"),
        (two_socket(), {"GPU-0": None, "GPU-7": None}, "sizes unknown"),
        (two_socket().change_topology(packages={}), {"GPU-0": 9 * GIB}, "sockets unknown"),
    ],
)
def test_homes_that_cannot_be_judged(parts: Parts, gpus: dict[str, int | None], reason: str) -> None:
    judged = last(script(task(1, gpus=gpus, mapped=AWRY, cpu={1: 0.0}), parts=parts))
    assert {one.not_judged for one in judged.verdicts[key(judged)].values()} == {reason}
    assert not [finding for finding in judged.findings if finding.level == "warning"]


def test_an_unknown_affinity_is_not_judged() -> None:
    parts = two_socket()
    first = parts.gpus.gpus[0]
    assert first.function is not None
    parts = parts.with_gpus(replace(first, function=replace(first.function, numa_node=None)))
    judged = last(script(holding(0.5), parts=parts))
    assert verdict(judged, "memory").not_judged == "home unknown"


def test_memory_is_not_judged_where_its_home_is_unknown() -> None:
    """A home without memory, and no distances that would say which memory is nearest."""
    nodes = node(0, "0-15", {}, memory=0), node(1, "16-31", {}), node(2, "32-47", {})
    parts = replace(two_socket(0), topology=topology(*nodes, packages={0: 0, 1: 0, 2: 1})).with_gpus(gpu(0, 0))
    rank = task(1, gpus="GPU-0", mapped={"anon": {1: 2 * GIB, 2: 2 * GIB}, "driver": {2: GIB}})
    judged = last(script(rank, parts=parts))
    assert verdict(judged, "memory").not_judged == "no memory home"
    assert verdict(judged, "host_buffers").not_judged == "no memory home"
    (placed_rank,) = placed(sample(parts, rank)).workloads[0].ranks
    assert not {"memory", "host_buffers", "memory_mask"} & placed_rank.misalignment.keys()


def test_the_next_node_of_a_socket_is_not_remote() -> None:
    pages: Pages = {"anon": {0: GIB, 1: 3 * GIB}}
    assert verdict(last(script(task(1, gpus="GPU-0", mapped=pages), parts=nps4())), "memory").misaligned is False


def test_interleaving_on_purpose_is_not_judged() -> None:
    assert verdict(last(script(under(holding(0.5), "interleave:0-1"))), "memory").not_judged == "interleaved"


def test_interleaving_within_its_own_socket_explains_nothing_remote() -> None:
    """SNC and NPS: ``numactl --interleave`` over the nodes of one socket, and half of the pages on the other."""
    pages: Pages = {"anon": {0: GIB, 1: GIB, 4: 2 * GIB}}
    rank = under(task(1, gpus="GPU-0", mapped=pages), "interleave:0-3")
    judged = last(script(rank, parts=nps4()))
    assert verdict(judged, "memory").misaligned
    assert not of(judged, "policy_interleaved")


def test_what_is_remote_beside_an_interleaved_pool_is_judged() -> None:
    """A pool of 1 GiB explains 512 MiB of the 2 GiB that are remote."""
    rank = under(holding(0.5), "default", **{"interleave:0-1": GIB, "default": 3 * GIB})
    assert verdict(last(script(rank)), "memory").misaligned


def test_every_reason_has_room_in_the_picture() -> None:
    seen = {
        one.not_judged
        for judged in (*watch(working({1: 0.01}), 330), *watch(script(holding(0.5, started=NOON)), 330))
        for dimensions in judged.verdicts.values()
        for one in dimensions.values()
        if one.not_judged
    }
    assert {"needs 5 min", "idle", "no reading", "too young", "needs 3 looks"} <= seen
    assert all(len(reason) <= 16 for reason in seen)


def test_limits_are_settings() -> None:
    loose = Settings(thresholds=Thresholds(memory=0.6, evaluations=1))
    assert verdict(watch(script(holding(0.5)), settings=loose)[0], "memory").misaligned is False
    assert verdict(watch(script(holding(0.7)), settings=loose)[0], "memory").misaligned is True
