"""Roll-ups on one small fleet: each GPU is in exactly one state, and unknown is never counted as aligned."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from rule_test import Samples, Series, promtool_test, series, steps

MINUTES = 10
MACHINE = {"cluster": "c", "node": "n1", "instance": "n1:10062"}
W = ("namespace", "pod", "container", "unit")


def gpu(uuid: str, *, rank: str | None = None, **holder: str) -> Series:
    """A GPU, and who holds it (nobody unless a pod or a unit is said)."""
    info = {series("numa_gpu_info", MACHINE, uuid=uuid, model="H200"): "1x9"}
    if not holder:
        return info
    held = series("numa_gpu_workload_info", MACHINE, holder, uuid=uuid, rank=rank or uuid, role="main", evidence="nvml")
    return info | {held: "1x9"}


def verdicts(uuid: str, *, cpu: int | None, memory: int | None, spread: float | None, **holder: str) -> Series:
    """A rank's judged dimensions; None is not judged."""
    key = MACHINE | holder | {"uuid": uuid}
    shown = {
        series("numa_rank_start_time_seconds", key): -6000.0,
        series("numa_rank_misaligned", key, dimension="cpu_time"): cpu,
        series("numa_rank_misaligned", key, dimension="memory"): memory,
        series("numa_rank_misalignment_ratio", key, dimension="gpu_spread"): spread,
    }
    return {name: steps((MINUTES, value)) for name, value in shown.items() if value is not None}


def pod(name: str) -> dict[str, str]:
    return {"namespace": "llm", "pod": name, "container": "vllm"}


FLEET: Series = (
    # a rank of two GPUs, clean in all three
    gpu("GPU-a0", rank="GPU-a0", **pod("good-0"))
    | gpu("GPU-a1", rank="GPU-a0", **pod("good-0"))
    | verdicts("GPU-a0", cpu=0, memory=0, spread=0.0, **pod("good-0"))
    # remote memory, CPU time not judged yet: bad is bad
    | gpu("GPU-b", **pod("bad-0"))
    | verdicts("GPU-b", cpu=None, memory=1, spread=0.0, **pod("bad-0"))
    # everything at home, but its GPUs are spread without need
    | gpu("GPU-c", **pod("wide-0"))
    | verdicts("GPU-c", cpu=0, memory=0, spread=0.5, **pod("wide-0"))
    # clean as far as anybody could see, and memory nobody saw: not green
    | gpu("GPU-d", **pod("dark-0"))
    | verdicts("GPU-d", cpu=0, memory=None, spread=0.0, **pod("dark-0"))
    # shared by a clean and an unknown workload: unknown, for both may be what slows it
    | gpu("GPU-e", **pod("good-1"))
    | gpu("GPU-e", unit="job.service")
    | verdicts("GPU-e", cpu=0, memory=0, spread=0.0, **pod("good-1"))
    # nobody
    | gpu("GPU-f")
)


def sums() -> Iterator[Samples]:
    def at_end(expr: str, values: dict[str, float]) -> Samples:
        return Samples(expr=expr, minute=MINUTES - 1, values=values)

    state = "numa:cluster:gpus"
    by_state = {"aligned": 2, "misaligned": 2, "unknown": 2, "unused": 1}
    yield at_end(state, {series(state, cluster="c", state=s): n for s, n in by_state.items()})
    share = "numa:cluster:gpus_share"
    thirds = dict.fromkeys(("aligned", "misaligned", "unknown"), 2 / 6)
    yield at_end(share, {series(share, cluster="c", state=s): n for s, n in thirds.items()})
    yield at_end("sum by (cluster) (numa:cluster:gpus_share)", {series("", cluster="c"): 1})
    hours = "numa:cluster:gpu_hours:1d"
    ten_minutes = dict.fromkeys(("aligned", "misaligned", "unknown"), 2 * MINUTES / 60)
    yield at_end(hours, {series(hours, cluster="c", state=s): n for s, n in ten_minutes.items()})
    yield at_end("count by (uuid) (numa:gpu:state) != 1", {})

    per_workload = "numa:workload:gpus"
    expected = {("good", "aligned"): 3, ("bad", "misaligned"): 1, ("wide", "misaligned"): 1, ("dark", "unknown"): 1}
    yield at_end(
        per_workload,
        {series(per_workload, cluster="c", namespace="llm", workload=w, state=s): n for (w, s), n in expected.items()},
    )


def test_states_of_gpus_add_up(promtool: str, tmp_path: Path) -> None:
    promtool_test(promtool, tmp_path, FLEET, samples=sums(), rules=("drift", "rollups"))


def test_two_exporter_pods_of_one_machine_do_not_count_twice(promtool: str, tmp_path: Path) -> None:
    twice = FLEET | {name.replace("n1:10062", "new:10062"): values for name, values in FLEET.items()}
    promtool_test(promtool, tmp_path, twice, samples=sums(), rules=("drift", "rollups"))


@pytest.mark.parametrize("labels", [MACHINE, {"instance": "n1:10062"}], ids=["cluster and node", "neither"])
def test_workload_amounts(labels: dict[str, str], promtool: str, tmp_path: Path) -> None:
    """Remote bytes and cores by workload: file pages are none, shared ones count for each rank, helpers do not."""
    place = {key: value for key, value in labels.items() if key == "cluster"}
    given: dict[str, str] = {}
    for uuid in ("GPU-0", "GPU-1", ""):
        key = labels | pod("chat-0") | {"uuid": uuid}
        given[series("numa_rank_start_time_seconds", key)] = "-6000x9"
        given[series("numa_rank_mapped_bytes", key, numa_node="1", locality="remote", backing="anon")] = "100x9"
        given[series("numa_rank_mapped_bytes", key, numa_node="1", locality="remote", backing="file")] = "5000x9"
        given[series("numa_rank_mapped_bytes", key, numa_node="0", locality="local", backing="anon")] = "7000x9"
        given[series("numa_rank_cpu_seconds_total", key, numa_node="0", locality="local")] = "0+60x9"
    of_chat = {"namespace": "llm", "workload": "chat", "container": "vllm"}
    samples = [
        Samples(expr=name, minute=9, values={series(name, place, of_chat): value})
        for name, value in (("numa:workload:remote_bytes", 200), ("numa:workload:remote_cores", 0))
    ]
    promtool_test(promtool, tmp_path, given, samples=samples, rules=("drift", "rollups"))


def test_capacity_and_coverage(promtool: str, tmp_path: Path) -> None:
    """Stranded GPUs add up over machines, never over sizes; coverage counts machines that nobody scrapes."""
    given: dict[str, str] = {}
    for i in range(4):
        node = {"cluster": "c", "node": f"n{i}"}
        given[series("kube_node_status_allocatable", node, resource="nvidia_com_gpu")] = "8x9"
        if i < 3:
            given[series("up", node, instance=f"n{i}:10062", job="monitoring/numa-exporter")] = "1x9"
            given[series("numa_gpus_stranded", node, instance=f"n{i}:10062", size="4")] = "4x9"
            given[series("numa_gpus_stranded", node, instance=f"n{i}:10062", size="8")] = "0x9"
    stranded, coverage = "numa:cluster:gpus_stranded", "numa:cluster:coverage_ratio"
    samples = [
        Samples(
            expr=stranded,
            minute=9,
            values={series(stranded, cluster="c", size="4"): 12, series(stranded, cluster="c", size="8"): 0},
        ),
        Samples(expr=coverage, minute=9, values={series(coverage, cluster="c"): 0.75}),
    ]
    promtool_test(promtool, tmp_path, given, samples=samples, rules=("drift", "rollups"))
