"""NumaPlacementDrift survives what happens in a fleet, and keeps quiet about what only looks like drift.

Every scenario tells a story in minutes. Unless it says otherwise, the first three hours are healthy: long enough for a
baseline (an hour of readings, an hour ago). A rank in a new pod is judged 15 minutes after its start; the page needs
another 10 minutes of badness and 10 of patience, so a pod that starts bad at minute t pages by t + 40.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from rule_test import Samples, Series, counting, ever_fired, promtool_test, series, steps

HOUR, DAY = 60, 24 * 60
MIB, GIB = 1 << 20, 1 << 30
LIMITS = {"memory": 0.2, "memory_bytes": 512 * MIB, "cpu_time": 0.25, "cpu_time_cores": 0.1,
          "cpu_time_used_seconds": 30, "rank_age_seconds": 600}  # fmt: skip


def limits(minutes: int, node: str = "n1", instance: str = "n1:10062", **changed: float) -> Series:
    """The agent's own limits as it exports them."""
    return {
        series("numa_exporter_threshold", cluster="c", node=node, instance=instance, name=name): steps((minutes, value))
        for name, value in (LIMITS | changed).items()
    }


def rank(
    *memory: tuple[int, float | None], start: int = -100, error: float = 0.0, gib: float = 8, **labels: str
) -> Series:
    """A rank by its remote share of memory, step by step; ``gib`` is what it maps on the far socket when remote."""
    key = {"cluster": "c", "node": "n1", "instance": "n1:10062", "namespace": "llm", "pod": "chat-0",
           "container": "vllm", "uuid": "GPU-a"} | labels  # fmt: skip
    seen = [(minutes, value is not None) for minutes, value in memory]
    return {
        series("numa_rank_start_time_seconds", key): steps(*((m, start * 60 if s else None) for m, s in seen)),
        series("numa_rank_misalignment_ratio", key, dimension="memory"): steps(*memory),
        series("numa_rank_mapped_error_ratio", key): steps(*((m, error if s else None) for m, s in seen)),
        series("numa_rank_mapped_bytes", key, locality="remote", backing="anon", numa_node="1"): steps(
            *((m, gib * GIB if s else None) for m, s in seen)
        ),
    }


def cpu(local: str, remote: str, moved: str, *, minutes: int, uuid: str = "GPU-a") -> Series:
    """A rank by its counters of CPU seconds."""
    key = {"cluster": "c", "node": "n1", "instance": "n1:10062", "namespace": "llm", "pod": "chat-0",
           "container": "vllm", "uuid": uuid}  # fmt: skip
    return {
        series("numa_rank_start_time_seconds", key): steps((minutes, -6000)),
        series("numa_rank_cpu_seconds_total", key, numa_node="0", locality="local"): local,
        series("numa_rank_cpu_seconds_total", key, numa_node="1", locality="remote"): remote,
        series("numa_rank_cpu_moved_seconds_total", key): moved,
    }


def owner(pod: str, kind: str, name: str, minutes: int, instance: str = "ksm:8080") -> Series:
    """kube-state-metrics' word on who made a pod."""
    labels = {"cluster": "c", "instance": instance, "namespace": "llm", "pod": pod, "owner_kind": kind,
              "owner_name": name, "owner_is_controller": "true"}  # fmt: skip
    return {series("kube_pod_owner", labels): steps((minutes, 1))}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A story and when it pages.

    ``page``: minutes at which the page is firing; ``quiet``: at which it is not; ``always_quiet``: silent until then.
    ``subjects``: the workloads that page. ``every``: evaluation interval (a week at 1m takes a minute).
    """

    name: str
    why: str
    story: Series
    page: tuple[int, ...] = ()
    quiet: tuple[int, ...] = ()
    always_quiet: int | None = None
    subjects: frozenset[str] = frozenset({"chat"})
    every: str = "1m"


def scenarios() -> Iterator[Scenario]:
    yield from replacement()
    yield from duration()
    yield from interruptions()
    yield from identity()
    yield from near_misses()


def replacement() -> Iterator[Scenario]:
    first, second, third = "chat-6d5f8c7b9-x2x4v", "chat-6d5f8c7b9-zz7kq", "chat-6d5f8c7b9-b5b5b"
    owners = {
        k: v for pod in (first, second, third) for k, v in owner(pod, "ReplicaSet", "chat-6d5f8c7b9", 500).items()
    }
    yield Scenario(
        name="new pod name, node and GPU",
        why="the replacement has nothing in common with the pod before but its owner",
        story=limits(300) | limits(300, "n2", "n2:10062") | owners
        | rank((180, 0.0), (120, None), pod=first)
        | rank((180, None), (120, 0.6), start=180, pod=second, node="n2", instance="n2:10062", uuid="GPU-z"),
        quiet=(179, 194), page=(220, 299),
    )  # fmt: skip
    yield Scenario(
        name="a bad pod replaced by a bad pod",
        why="keep_firing_for bridges the start-up patience of the next pod: one page, not two",
        story=limits(400) | owners
        | rank((180, 0.0), (220, None), pod=first)
        | rank((180, None), (80, 0.6), (140, None), start=180, pod=second)
        | rank((260, None), (140, 0.7), start=260, pod=third, uuid="GPU-c"),
        page=tuple(range(220, 400)),
    )  # fmt: skip


def duration() -> Iterator[Scenario]:
    yield Scenario(
        name="unfixed for ten hours",
        why="a rule that compares with an hour ago would have resolved itself nine times",
        story=limits(800) | rank((180, 0.0), (620, 0.6)),
        quiet=(185,), page=tuple(range(210, 800, 10)),
    )  # fmt: skip
    end = 10 * HOUR + 10 + 7 * DAY
    yield Scenario(
        name="the freeze ends after seven days",
        why="what has been so for a week is how it is: the ticket about remote memory stays, the page does not",
        story=limits(end + 4 * HOUR) | rank((10 * HOUR, 0.0), (end, 0.6)),
        page=(DAY, 4 * DAY, end - HOUR), quiet=(end + 2 * HOUR,), every="5m",
    )  # fmt: skip
    yield Scenario(
        name="healed",
        why="the page resolves when the placement is right again, not before",
        story=limits(500) | rank((180, 0.0), (120, 0.6), (200, 0.0)),
        page=(299, 305), quiet=(345, 499),
    )  # fmt: skip
    yield Scenario(
        name="relapse",
        why="the bad hours before must not have become the baseline",
        story=limits(700) | rank((180, 0.0), (120, 0.6), (120, 0.0), (280, 0.6)),
        page=(299, 450, 699), quiet=(400, 419),
    )  # fmt: skip


def interruptions() -> Iterator[Scenario]:
    yield Scenario(
        name="agent away for half an hour while bad",
        why="no readings are no change: the same page goes on",
        story=rank((180, 0.0), (60, 0.6), (30, None), (130, 0.6))
        | {k: steps((240, v), (30, None), (130, v)) for k, v in limits_by_series().items()},
        page=(239, 265, 300, 399),
    )  # fmt: skip
    yield Scenario(
        name="agent away for an hour and a half while bad",
        why="the baseline outlives a gap of up to two hours; the page pauses and comes back",
        story=rank((180, 0.0), (60, 0.6), (90, None), (170, 0.6))
        | {k: steps((240, v), (90, None), (170, v)) for k, v in limits_by_series().items()},
        page=(239, 370, 499), quiet=(320,),
    )  # fmt: skip
    yield Scenario(
        name="agent away while aligned",
        why="a gap is not a change",
        story=rank((180, 0.0), (60, None), (160, 0.0)) | limits(400),
        always_quiet=399,
    )
    yield Scenario(
        name="agent rollout while bad",
        why="a new `instance` for the same machine, two of them for five minutes",
        story=limits(245) | {k: steps((240, None), (160, v)) for k, v in limits_by_series("new:10062").items()}
        | rank((180, 0.0), (65, 0.6), (155, None)) | rank((240, None), (160, 0.6), instance="new:10062"),
        page=tuple(range(210, 400)),
    )  # fmt: skip
    yield Scenario(
        name="duplicate kube-state-metrics",
        why="two replicas say the same of every pod: a join on both would fail the whole rule",
        story=limits(300) | rank((180, 0.0), (120, 0.6)) | owner("chat-0", "StatefulSet", "chat", 300)
        | owner("chat-0", "StatefulSet", "chat", 300, instance="ksm-2:8080"),
        page=(215, 299),
    )  # fmt: skip


def identity() -> Iterator[Scenario]:
    yield Scenario(
        name="no kube-state-metrics",
        why="the pod's name without the endings that Kubernetes makes up names the Deployment",
        story=limits(300) | rank((180, 0.0), (120, None), pod="chat-api-6d5f8c7b9-x2x4v")
        | rank((180, None), (120, 0.6), start=180, pod="chat-api-7f4b9d8c6-q8w2z", uuid="GPU-b"),
        page=(220, 299), subjects=frozenset({"chat-api"}),
    )  # fmt: skip
    yield Scenario(
        name="unit of a host",
        why="no pod at all; the unit is the workload",
        story=limits(300) | rank((180, 0.0), (120, 0.6), namespace="", pod="", container="", unit="vllm.service"),
        page=(215, 299),
        subjects=frozenset({"vllm.service"}),
    )
    yield Scenario(
        name="no target labels",
        why="`cluster` and `node` may be absent on every series",
        story={without_target_labels(k): v for k, v in (limits(300) | rank((180, 0.0), (120, 0.6))).items()},
        page=(215, 299),
    )  # fmt: skip
    yield Scenario(
        name="time-slicing",
        why="two workloads share one GPU; only the one that became remote is named",
        story=limits(300) | rank((180, 0.0), (120, 0.6), pod="chat-0") | rank((300, 0.0), pod="embed-0"),
        page=(215, 299),
    )
    yield Scenario(
        name="one of eight ranks in one container",
        why="a container's average would hide it: 60 % of one rank is 7.5 % of all",
        story=limits(300) | rank((180, 0.0), (120, 0.6), uuid="GPU-0")
        | {k: v for i in range(1, 8) for k, v in rank((300, 0.0), uuid=f"GPU-{i}").items()},
        page=(215, 299),
    )  # fmt: skip
    yield Scenario(
        name="one bad of nine replicas",
        why="11 % of the ranks are more than the 5 points of patience",
        story=limits(300) | rank((180, 0.0), (120, 0.6), pod="chat-0", uuid="GPU-0")
        | {k: v for i in range(1, 9) for k, v in rank((300, 0.0), pod=f"chat-{i}", uuid=f"GPU-{i}").items()},
        page=(215, 299),
    )  # fmt: skip
    yield Scenario(
        name="CPU time",
        why="the threads moved away while the pages stayed",
        story=limits(300)
        | cpu(counting((180, 2), (120, 1)), counting((180, 0), (120, 1)), counting((300, 0.01)), minutes=300),
        page=(220, 299),
    )  # fmt: skip
    yield Scenario(
        name="the first remote second",
        why="until then no remote series exists, and three hours of zero must count as history",
        story=limits(300)
        | cpu(counting((180, 2), (120, 1)), "_x180 " + counting((120, 1)), counting((300, 0)), minutes=300),
        page=(220, 299),
    )  # fmt: skip
    yield Scenario(
        name="one busy engine among thirty idle ones",
        why="an idle engine is unknown, not good: thirty of them do not make one bad rank a minority",
        story=limits(300)
        | cpu(counting((180, 2), (120, 1)), counting((180, 0), (120, 1)), counting((300, 0)), minutes=300)
        | {
            name: values
            for i in range(30)
            for name, values in cpu(
                counting((300, 0.02)), counting((300, 0)), counting((300, 0)), minutes=300, uuid=f"GPU-{i}"
            ).items()
        },
        page=(220, 299),
    )


def near_misses() -> Iterator[Scenario]:
    def silent(name: str, why: str, story: Series, minutes: int = 300) -> Scenario:
        return Scenario(name=name, why=why, story=story, always_quiet=minutes - 1)

    yield silent(
        "start-up",
        "a rolling update: one after another is remote for 14 minutes while its model loads, and then at home",
        limits(300) | rank((180, 0.0), (120, None))
        | rank((180, None), (14, 0.9), (106, 0.0), start=180, pod="chat-1")
        | rank((190, None), (14, 0.9), (96, 0.0), start=190, pod="chat-2")
        | rank((200, None), (14, 0.9), (86, 0.0), start=200, pod="chat-3"),
    )  # fmt: skip
    for minutes in (9, 18):
        yield silent(
            f"a burst of {minutes} minutes",
            "the page asks for ten minutes in which it was bad throughout, and for ten minutes of that",
            limits(300) | rank((180, 0.0), (minutes, 0.8), (120 - minutes, 0.0)),
        )
    yield silent(
        "cordoned machine",
        "it is being emptied: pods squeezed together there are meant to look odd",
        limits(300) | rank((180, 0.0), (120, 0.6))
        | {series("kube_node_spec_unschedulable", cluster="c", node="n1"): steps((180, 0), (120, 1))},
    )  # fmt: skip
    yield silent(
        "within the sampling error",
        "24 % plus or minus 5 may be 19 %",
        limits(300) | rank((180, 0.0), (120, 0.24), error=0.05),
    )
    yield silent(
        "below the byte floor",
        "60 % of a small rank is 400 MiB",
        limits(300) | rank((180, 0.0), (120, 0.6), gib=0.4),
    )
    yield silent(
        "a raised limit",
        "--threshold.memory=0.7 on the agent is all that it takes: the rules follow",
        limits(300, memory=0.7) | rank((180, 0.0), (120, 0.6)),
    )
    yield silent(
        "declared as intended",
        "an intent suppresses the finding, and with it the page",
        limits(300) | rank((180, 0.0), (120, 0.6))
        | {series("numa_findings", code="memory_remote", level="warning", suppressed="true", cluster="c", node="n1",
                  namespace="llm", pod="chat-0", container="vllm", uuid="GPU-a"): steps((180, None), (120, 1))},
    )  # fmt: skip
    yield silent(
        "idle CPU",
        "all of 0.05 core on the far socket is an idle engine, not a placement",
        limits(300)
        | cpu(counting((180, 2), (120, 0)), counting((180, 0), (120, 0.05)), counting((300, 0)), minutes=300),
    )
    yield silent(
        "below the floor of cores",
        "two thirds of 0.12 core: busy enough to be known, too little to matter",
        limits(300)
        | cpu(counting((180, 2), (120, 0.04)), counting((180, 0), (120, 0.08)), counting((300, 0)), minutes=300),
    )
    yield silent(
        "CPU time that moved between the looks",
        "a third seems remote, but half of all seconds were seen to change node: nobody knows",
        limits(300)
        | cpu(
            counting((180, 2), (120, 1.34)), counting((180, 0), (120, 0.66)), counting((180, 0), (120, 1)), minutes=300
        ),
    )
    yield silent(
        "counter reset",
        "a restarted agent counts from zero; a bad decade of remote seconds must not reappear",
        limits(300)
        | cpu(
            counting((180, 2)) + " " + counting((120, 2)),
            f"50000x179 {counting((120, 0))}",
            counting((300, 0)),
            minutes=300,
        ),
    )
    yield silent(
        "always remote",
        "nothing drifted: that is what the ticket about remote memory is for",
        limits(600) | rank((600, 0.6)), 600,
    )  # fmt: skip
    yield silent(
        "no history",
        "a new Slurm job has no yesterday to compare with",
        limits(100) | rank((40, 0.0), (60, 0.6), namespace="", pod="", container="", unit="slurm/4711/0"), 100,
    )  # fmt: skip
    yield silent(
        "helpers",
        "what a launcher without a GPU does is told, not judged",
        limits(300) | rank((180, 0.0), (120, 0.9), uuid=""),
    )


def limits_by_series(instance: str = "n1:10062") -> Mapping[str, float]:
    return {
        series("numa_exporter_threshold", cluster="c", node="n1", instance=instance, name=name): value
        for name, value in LIMITS.items()
    }


def without_target_labels(name: str) -> str:
    return name.replace('cluster="c",', "").replace('node="n1",', "")


@pytest.mark.parametrize("scenario", list(scenarios()), ids=lambda s: s.name)
def test_drift(scenario: Scenario, promtool: str, tmp_path: Path) -> None:
    firing = 'group by (workload) (ALERTS{alertname="NumaPlacementDrift",alertstate="firing"})'
    subjects = {series("", workload=name): 1.0 for name in scenario.subjects}
    samples = [Samples(expr=firing, minute=minute, values=subjects) for minute in scenario.page]
    samples += [Samples(expr=firing, minute=minute, values={}) for minute in scenario.quiet]
    if scenario.always_quiet is not None:
        samples += silence(scenario.always_quiet, helpers_only=scenario.name == "helpers")
    assert samples
    promtool_test(
        promtool, tmp_path, scenario.story,
        samples=samples, rules=("drift", "alerts"), every=scenario.every,
    )  # fmt: skip


def silence(until: int, *, helpers_only: bool) -> Iterator[Samples]:
    """Nothing ever paged, and not because nobody looked: ranks were known (helpers are none)."""
    yield ever_fired(until)
    ranks = f"clamp_max(count(count_over_time(numa:rank_remote:ratio[{until}m])), 1)"
    yield Samples(expr=ranks, minute=until, values={} if helpers_only else {"{}": 1})
