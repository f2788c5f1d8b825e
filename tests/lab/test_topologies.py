"""The exporter on machines of other shapes: home, its socket, its GPU's memory, and where there is nothing to align."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.lab import checks
from tests.lab.observation import Observation, observe
from tests.lab.runner import Lab
from tests.lab.workloads import MEMORY_ONLY, NO_MEMORY, ONE_NODE, SUB_NUMA

pytestmark = pytest.mark.lab
Machine = Callable[..., Lab]
GUEST = ["info numa_balancing_on", "info virtual_topology"]


def look(lab: Machine, topology: str, names: Sequence[str], **options: Any) -> Observation:
    """An observation whose bytes and masks are the kernel's."""
    seen = observe(lab(topology, devices=("nvidia",), **options), names)
    checks.check_pages(seen, names)
    checks.check_backings(seen, names)
    checks.check_charged(seen, names, unit=1)
    checks.check_cpusets(seen, names)
    return seen


def kinds(seen: Observation) -> list[str]:
    return [node["kind"] for node in seen.document["machine"]["nodes"]]


def test_two_nodes_a_socket(lab: Machine) -> None:
    """What is on the next node of the socket is no warning, though the policy and the cpuset could be better."""
    seen = look(lab, "2s4n-snc2", list(SUB_NUMA))
    assert [socket["nodes"] for socket in seen.document["machine"]["sockets"]] == [[0, 1], [2, 3]]
    assert {name: seen.findings(name) for name in SUB_NUMA} == {
        "home": [],
        "next_door": ["info policy_off_home"],
        "across": ["warning memory_remote", "warning policy_off_home"],
        "next_door_cpuset": ["info cpuset_off_home"],
        "far_cpuset": ["warning cpuset_off_home"],
    }
    assert seen.findings() == GUEST


def test_memory_of_gpus(lab: Machine) -> None:
    """A rank's pages on its own GPU are `device`, in no ratio; on another GPU they are remote and in the way there."""
    seen = look(lab, "2s4n-memonly", list(MEMORY_ONLY), memory_nodes=(2, 3))
    assert kinds(seen) == ["cpu", "cpu", "gpu", "gpu"]
    ((beside, _),) = seen.told("beside")
    assert beside["mapped"]["anon"]["2"] == 32 << 20
    assert beside["not_judged"]["memory"].startswith("under ")  # those 32 MiB do not count: the rest is too little
    assert {name: seen.findings(name) for name in MEMORY_ONLY} == {"beside": [], "beyond": ["warning memory_remote"]}
    assert seen.findings() == [*GUEST, "warning gpu_node_polluted"]
    (polluted,) = (found for found in seen.document["findings"] if found["code"] == "gpu_node_polluted")
    assert polluted["subject"]["numa_node"] == 3


def test_memory_expanders(lab: Machine) -> None:
    """Memory without CPUs is at best of its nearest node's socket."""
    seen = look(lab, "2s4n-memonly", list(MEMORY_ONLY))
    assert kinds(seen) == ["cpu", "cpu", "memory", "memory"]
    assert {name: seen.findings(name) for name in MEMORY_ONLY} == {"beside": [], "beyond": ["warning memory_remote"]}
    assert seen.findings() == GUEST


def test_a_node_without_memory(lab: Machine) -> None:
    """Who is at home there has its memory home next door."""
    seen = look(lab, "2s2n-nomem", list(NO_MEMORY))
    (near, _), (empty, _) = sorted(seen.told("empty_bank"), key=lambda told: told[0]["home"])
    assert (near["home"], near["memory_home"]) == ([0], [0])
    assert (empty["home"], empty["memory_home"]) == ([1], [0])
    assert seen.findings("empty_bank") == []
    assert seen.findings() == GUEST


def test_one_node(lab: Machine) -> None:
    seen = look(lab, "1s1n", list(ONE_NODE))
    ((rank, _),) = seen.told("alone")
    assert rank["misaligned"] == {"memory": False, "host_buffers": False, "cpu_time": False}
    assert seen.findings("alone") == []
    assert seen.findings() == ["info single_node", "info virtual_topology"]
