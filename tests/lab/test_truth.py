"""The exporter in a guest says what the kernel says: pages, CPUs, threads, cgroups, and what is wrong."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.lab import checks
from tests.lab.observation import Observation, observe, replayed
from tests.lab.runner import Lab
from tests.lab.workloads import TWO_SOCKETS

pytestmark = pytest.mark.lab

# What a workload is told of; those that are not here are silent.
MEMORY, POLICY = "warning memory_remote", "warning policy_off_home"
BUFFERS, SWAPPED = "warning host_buffers_remote", "warning rank_swapped"
FOUND = {
    "remote_cpu": ["warning cpu_remote"],
    "remote_memory": [MEMORY, POLICY],
    "prefer_many": [MEMORY, POLICY],
    "interleave": ["info policy_interleaved"],
    "weighted_interleave": ["info policy_interleaved"],
    "thp": [MEMORY, POLICY],
    "hugetlb": [MEMORY, POLICY],
    "shared": [BUFFERS, MEMORY, POLICY],
    "driver": [BUFFERS, MEMORY],
    "host_buffers": [BUFFERS],
    "before_bind": ["info pages_before_policy"],
    "swapped": [MEMORY, MEMORY, POLICY, POLICY, SWAPPED, SWAPPED],
    "escaped_threads": ["info threads_escaped"],
    "astray": ["warning cpuset_off_home"],
    "wide_mems": ["info mems_wider_than_cpus"],
    "wide_cpus": ["info cpuset_unconfined"],
    "all_gpus": ["info process_spans_sockets"],
}
# Each would be a false alarm.
NOT_JUDGED = {
    "interleave": {"memory": "interleaved"},
    "weighted_interleave": {"memory": "interleaved"},
    "pool": {"memory": "interleaved"},
    "loading": {"memory": "too young"},
    "all_gpus": {"memory": "on all sockets", "cpu_time": "on all sockets"},
    "idle": {"cpu_time": "idle"},
}
Samples = Mapping[tuple[str, frozenset[tuple[str, str]]], float]
OWN_WAYS = (
    *("good_busy", "remote_memory", "thp", "hugetlb", "shared", "driver", "before_bind", "escaped_threads"),
    *("monitor", "stray", "forked", "tmpfs_weights", "file_weights", "loading"),
)
BUSY = ("good_busy", "remote_cpu", "escaped_threads")


# All on one kernel; on the others what they do in their own way.
KERNELS = {
    ("6.1", "v2"): [*TWO_SOCKETS],
    ("6.12", "v2"): [*OWN_WAYS, "prefer_many", "weighted_interleave", "interleave", "remote_cpu", "pool"],
    ("6.1", "v1"): [*OWN_WAYS, "swapped", "confined", "astray", "wide_mems"],
}


@pytest.fixture(scope="module", params=KERNELS, ids="-".join)
def kernel(request: pytest.FixtureRequest) -> tuple[str, str]:
    found: tuple[str, str] = request.param
    return found


@pytest.fixture(scope="module")
def seen(kernel: tuple[str, str], lab: Callable[..., Lab]) -> Observation:
    """The workloads beside each other in one boot: two sockets of a node each, with a GPU each."""
    release, cgroup = kernel
    return observe(lab("2s2n", kernel=release, cgroup=cgroup, devices=("nvidia",)), KERNELS[kernel])


@pytest.fixture(scope="module")
def ranks(seen: Observation) -> list[str]:
    """The workloads that are ranks; the monitor is none."""
    return [name for name in seen.ranks if name != "monitor"]


def test_every_source_answers(seen: Observation, kernel: tuple[str, str]) -> None:
    assert seen.document["host"]["kernel"].startswith(f"{kernel[0]}.")
    assert seen.document["host"]["cgroup"] == kernel[1]
    assert {name: source["failure"] for name, source in seen.document["sources"].items() if source["failure"]} == {
        "kubelet": "absent",
        "traffic": "absent",
    }


def test_names(seen: Observation, ranks: list[str]) -> None:
    """From the kubelet's log directories."""
    for name in ranks:
        told = seen.workload(name)
        assert (told["namespace"], told["pod"], told["container"]) == ("lab", name.replace("_", "-"), "main")


def test_pages(seen: Observation, ranks: list[str]) -> None:
    checks.check_pages(seen, ranks)


def test_backings(seen: Observation, ranks: list[str]) -> None:
    checks.check_backings(seen, ranks)


def test_what_containers_are_charged_for(seen: Observation, ranks: list[str], kernel: tuple[str, str]) -> None:
    checks.check_charged(seen, ranks, unit=1 if kernel[1] == "v2" else 4096)


def test_mapped_and_charged_are_not_mixed(seen: Observation, kernel: tuple[str, str]) -> None:
    """Two ranks map one segment: mapped by both, charged once. Nobody is charged for a driver's pages."""
    first, second = (rank for rank, _ in seen.told("tmpfs_weights"))
    charged = seen.workload("tmpfs_weights")["charged"]
    assert first["mapped"]["shmem"] == second["mapped"]["shmem"] == {"1": 12 << 20}
    shmem = charged["shmem" if kernel[1] == "v2" else "anon_and_shmem"]["1"]
    assert 12 << 20 <= shmem < 24 << 20
    ((rank, _),) = seen.told("driver")
    assert rank["mapped"]["driver"] == {"1": 8 << 20}
    assert sum(sum(nodes.values()) for nodes in seen.workload("driver")["charged"].values()) < 8 << 20
    ((rank, _),) = seen.told("hugetlb")
    assert rank["mapped"]["hugetlb"] == {"1": 8 << 20}
    assert seen.workload("hugetlb")["charged"]["hugetlb"] == {"0": 0, "1": 8 << 20}


def test_cpusets(seen: Observation, ranks: list[str]) -> None:
    checks.check_cpusets(seen, ranks)


def test_masks(seen: Observation, ranks: list[str]) -> None:
    checks.check_masks(seen, [name for name in ranks if name != "all_gpus"])  # whose home is the whole machine


def test_policies(seen: Observation, ranks: list[str]) -> None:
    """Of the process: what no mapping overrides. numa_maps spells it, two modes with a space."""
    spelled = {"prefer_many": "prefer (many):1", "weighted_interleave": "weighted interleave:0-1"}
    for name in ranks:
        for rank, known in seen.told(name):
            assert rank["policy"] in known["truth"]["policies"], name
            assert rank["policy"] == spelled.get(name, rank["policy"])


def test_cpu_time(seen: Observation) -> None:
    for name, node in (("good_busy", "0"), ("remote_cpu", "1")):
        if name in seen.ranks:
            checks.check_cpu_time(seen, name, node)


def test_threads(seen: Observation) -> None:
    ((rank, known),) = seen.told("escaped_threads")
    (away,) = (thread for thread, cpus in known["said"]["threads"].items() if cpus == "2-3")
    assert known["truth"]["affinities"][away] == [2, 3]
    assert rank["escaped_threads"] == 1
    assert rank["threads"] == {"local": 6, "remote": 1}


def test_who_holds_what(seen: Observation) -> None:
    ((stray, _),) = seen.told("stray")
    first, second = (gpu["uuid"] for gpu in seen.document["gpus"])
    assert [(process["main"], process["stray"]) for process in stray["processes"]] == [([first], [second])]
    assert [observer["comm"] for observer in seen.document["observers"]] == ["nv-hostengine"]
    assert len(seen.workload("forked")["helpers"]) == 3  # two children and a loader of its own


def test_what_is_found(seen: Observation, ranks: list[str]) -> None:
    assert {name: seen.findings(name) for name in ranks} == {name: FOUND.get(name, []) for name in ranks}
    assert "monitor" not in {finding["subject"]["pod"] for finding in seen.document["findings"]}


def test_what_is_not_judged(seen: Observation, ranks: list[str]) -> None:
    for name in (name for name in NOT_JUDGED if name in ranks):
        ((rank, _),) = seen.told(name)
        assert rank["not_judged"] | NOT_JUDGED[name] == rank["not_judged"], name
    for name in (name for name in BUSY if name in ranks):
        ((rank, _),) = seen.told(name)
        assert not rank["not_judged"], name


def test_what_is_found_of_the_machine(seen: Observation) -> None:
    """A pool of huge pages on one node alone is not among it."""
    assert seen.findings() == ["info numa_balancing_on", "info virtual_topology"]


def test_the_bundle_replays_to_the_same_report(seen: Observation) -> None:
    assert json.loads(replayed(seen.bundle, "--json")) == {**seen.document, "mode": "replay"}


def test_a_planted_fault_is_found(seen: Observation, ranks: list[str]) -> None:
    """A build that takes N1 for N0 gets past none of the checks that the others pass."""
    misread = replace(seen, document=json.loads(replayed(seen.bundle, "--json", program="tests.lab.misread")))
    for check in (checks.check_pages, checks.check_backings):
        with pytest.raises(AssertionError):
            check(misread, ranks)
    assert "warning memory_remote" not in misread.findings("remote_memory")


def test_metrics_are_the_reports(seen: Observation, ranks: list[str]) -> None:
    """The same bytes under contract names: mapped by rank, charged by workload; and no series twice.

    A node where a rank maps nothing is a series of its own, not a number in the report.
    """
    samples: dict[tuple[str, frozenset[tuple[str, str]]], float] = {}
    for family in text_string_to_metric_families(replayed(seen.bundle, "--metrics")):
        for sample in family.samples:
            key = sample.name, frozenset(sample.labels.items())
            assert key not in samples, key
            samples[key] = sample.value
    for name in ranks:
        pod = {"pod": seen.workload(name)["pod"]}
        charged = _by_node(samples, "numa_workload_charged_bytes", pod)
        assert charged == seen.workload(name)["charged"], name
        for rank, _ in seen.told(name):
            mapped = _by_node(samples, "numa_rank_mapped_bytes", pod | {"uuid": rank["uuid"]})
            some = {backing: {node: size for node, size in on.items() if size} for backing, on in mapped.items()}
            assert some == rank["mapped"], name


def _by_node(samples: Samples, name: str, labels: dict[str, str]) -> dict[str, dict[str, int]]:
    """Backing to node to bytes, of the series with these labels."""
    found: dict[str, dict[str, int]] = {}
    for (metric, pairs), value in samples.items():
        own = dict(pairs)
        if metric == name and own | labels == own:
            found.setdefault(own["backing"], {})[own["numa_node"]] = int(value)
    return found
