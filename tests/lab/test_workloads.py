"""The workloads are where they claim to be, by the kernel's own answers; what the exporter says is held against it."""

import json
import sys
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.lab.containers import Container
from tests.lab.runner import Lab
from tests.lab.workloads import WORKLOADS
from tests.nvml.build import NvmlShim

pytestmark = pytest.mark.lab
Answers = Mapping[str, list[dict[str, Any]]]
NODE0, NODE1 = [0, 1, 2, 3], [4, 5, 6, 7]


@pytest.fixture(scope="module")
def answers(lab: Callable[..., Lab]) -> Answers:
    """Every workload that runs on 6.1, on two sockets with a GPU each, cgroup v2."""
    names = [name for name in WORKLOADS if name != "weighted_interleave"]
    answers: Answers = lab("2s2n", devices=("nvidia",)).ask("-m", "tests.lab.workloads", *names)
    return answers


def pages(rank: dict[str, Any]) -> dict[str, dict[str, int]]:
    """Backing to node to 4 KiB pages; a backing held twice is added up."""
    found: dict[str, dict[str, int]] = {}
    for backing, nodes in rank["truth"]["pages"]:
        row = found.setdefault(backing, {})
        for node, count in nodes.items():
            row[node] = row.get(node, 0) + count
    return found


def mib(count: int) -> int:
    return count << 8  # in 4 KiB pages


@pytest.mark.parametrize(
    ("name", "node", "cpus", "policy"),
    [
        ("good", "0", NODE0, "bind:0"),
        ("remote_cpu", "0", NODE1, "bind:0"),
        ("remote_memory", "1", NODE0, "bind:1"),
        ("prefer_many", "1", NODE0, "prefer (many):1"),
        ("forked", "0", NODE0, "bind:0"),
        ("swapped", "1", NODE1, "bind:1"),
    ],
)
def test_bound_ranks(answers: Answers, name: str, node: str, cpus: list[int], policy: str) -> None:
    rank = answers[name][0]
    assert pages(rank) == {"anon": {node: mib(24)}}
    assert set(map(tuple, rank["truth"]["affinities"].values())) == {tuple(cpus)}
    assert policy in rank["truth"]["policies"]
    assert rank["truth"]["numastat"]["Private"][node] >= 24
    assert rank["truth"]["charged"]["anon"][node] >= 24 << 20
    assert rank["truth"]["mems_allowed"] == "0-1"  # a policy narrows no cpuset


def test_interleave_is_even(answers: Answers) -> None:
    (rank,) = answers["interleave"]
    counts = pages(rank)["anon"]
    assert sum(counts.values()) == mib(24)
    assert abs(counts["0"] - counts["1"]) <= 1
    assert "interleave:0-1" in rank["truth"]["policies"]


def test_weighted_interleave_needs_a_newer_kernel(lab: Callable[..., Lab]) -> None:
    """All weights are 1 unless set; the word in numa_maps has a space."""
    machine = lab("2s2n", kernel="6.12", devices=("nvidia",))
    (rank,) = machine.ask("-m", "tests.lab.workloads", "weighted_interleave")["weighted_interleave"]
    counts = pages(rank)["anon"]
    assert sum(counts.values()) == mib(24)
    assert abs(counts["0"] - counts["1"]) <= 1
    assert "weighted interleave:0-1" in rank["truth"]["policies"]


@pytest.mark.parametrize(
    ("name", "backings"),
    [
        ("thp", {"thp": 24}),
        ("hugetlb", {"hugetlb": 8}),
        ("shared", {"shm": 8, "shmem_anon": 12, "memfd": 16}),
        ("file", {"file": 8}),
        ("driver", {"driver": 8}),
    ],
)
def test_backings(answers: Answers, name: str, backings: dict[str, int]) -> None:
    (rank,) = answers[name]
    assert pages(rank) == {backing: {"1": mib(size)} for backing, size in backings.items()}
    row = "Huge" if name == "hugetlb" else "Private"
    assert rank["truth"]["numastat"][row]["1"] >= sum(backings.values())


def test_what_the_cgroup_is_charged_for(answers: Answers) -> None:
    """Shared memory is shmem within file; huge pages and a driver's pages are not in it."""
    thp, shared = answers["thp"][0]["truth"]["charged"], answers["shared"][0]["truth"]["charged"]
    assert thp["anon_thp"]["1"] == 24 << 20
    assert shared["shmem"]["1"] >= 36 << 20
    for name, size in (("hugetlb", 8), ("driver", 8)):
        charged = answers[name][0]["truth"]["charged"]
        assert sum(charged["anon"].values()) + charged["shmem"]["1"] < (30 + size) << 20


def test_pages_placed_before_the_bind_stay(answers: Answers) -> None:
    (rank,) = answers["before_bind"]
    assert pages(rank)["anon"] == {"1": mib(24), "0": mib(8)}
    assert "bind:0" in rank["truth"]["policies"]


def test_threads_have_masks_of_their_own(answers: Answers) -> None:
    (rank,) = answers["escaped_threads"]
    main, *threads = (
        rank["truth"]["affinities"][thread] for thread in [str(rank["said"]["pid"]), *rank["said"]["threads"]]
    )
    assert [main, *threads] == [NODE0, NODE1, NODE0]


def test_ranks_swapped_between_sockets(answers: Answers) -> None:
    first, second = answers["swapped"]
    assert (pages(first)["anon"], pages(second)["anon"]) == ({"1": mib(24)}, {"0": mib(24)})


def test_a_cpuset_confines(answers: Answers) -> None:
    for rank, container in zip(answers["confined"], WORKLOADS["confined"], strict=True):
        assert pages(rank) == {"anon": {"0": mib(24)}}
        assert rank["truth"]["mems_allowed"] == "0"
        assert set(map(tuple, rank["truth"]["affinities"].values())) == {tuple(NODE0)}
        assert rank["truth"]["cgroup"] == f"0::/{container.container.systemd_path()}\n"


def test_cgroup_v1_counts_pages(lab: Callable[..., Lab]) -> None:
    machine = lab("2s2n", cgroup="v1", devices=("nvidia",))
    (near, far) = machine.ask("-m", "tests.lab.workloads", "confined")["confined"]
    path = WORKLOADS["confined"][0].container.cgroupfs_path()
    assert f":cpuset:/{path}\n" in near["truth"]["cgroup"]
    assert mib(24) <= near["truth"]["charged"]["anon"]["0"] < mib(40)
    assert far["truth"]["mems_allowed"] == "0"


def test_paths_are_the_kubelets() -> None:
    burstable = Container(pod="trainer")
    uid = burstable.uid.replace("-", "_")
    slices = f"kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{uid}.slice"
    assert burstable.systemd_path() == f"{slices}/cri-containerd-{burstable.id}.scope"
    assert burstable.cgroupfs_path() == f"kubepods/burstable/pod{burstable.uid}/{burstable.id}"
    guaranteed = Container(pod="trainer", qos="guaranteed")
    assert guaranteed.systemd_path() == f"kubepods.slice/kubepods-pod{uid}.slice/cri-containerd-{burstable.id}.scope"
    assert guaranteed.cgroupfs_path() == f"kubepods/pod{burstable.uid}/{burstable.id}"


def test_nvml_agrees_with_the_guest(lab: Callable[..., Lab], nvml_shim: NvmlShim) -> None:
    """The shim is built here and loaded there; its file is written there, where the process ids are known."""
    machine = lab("2s2n", devices=("nvidia",), environment=nvml_shim.environment)
    look = [sys.executable, "-m", "tests.lab.pynvml_look"]
    seen = machine.ask("-m", "tests.lab.observe", "swapped", "--", *look)
    assert seen["exit_code"] == 0, seen["stderr"]
    gpus, ranks = json.loads(seen["stdout"]), seen["ranks"]
    assert [gpu["pci"] for gpu in gpus] == ["00000000:21:00.0", "00000000:41:00.0"]
    assert [gpu["nodes"] for gpu in gpus] == [0b01, 0b10]
    assert [gpu["pids"] for gpu in gpus] == [[rank["said"]["pid"]] for rank in ranks]
    assert [list(pages(rank)["anon"]) for rank in ranks] == [["1"], ["0"]]
