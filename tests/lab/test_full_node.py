"""A node full of page cache: allocations go to the other socket, or the cache is dropped, as the policy says."""

from collections.abc import Callable

import pytest

from tests.lab.observation import MIB, Observation, observe
from tests.lab.runner import Lab

pytestmark = pytest.mark.lab


def look(lab: Callable[..., Lab], workload: str) -> Observation:
    """The workload allocates 100 MiB between the two looks."""
    seen = observe(lab("2s2n-lean", devices=("nvidia",)), [workload], options=["--fill-node", "0"], window="15s")
    (node, _) = seen.document["machine"]["nodes"]
    assert node["memory_reclaimable_bytes"] > 100 * MIB
    return seen


def test_a_rank_without_a_policy_spills(lab: Callable[..., Lab]) -> None:
    seen = look(lab, "spilled")
    ((rank, known),) = seen.told("spilled")
    assert known["truth"]["affinities"][str(known["said"]["pid"])] == [0]
    assert rank["mapped"]["anon"]["1"] > 50 * MIB
    assert "warning memory_remote" in seen.findings("spilled")
    (full,) = (found for found in seen.document["findings"] if found["code"] == "local_memory_exhausted")
    assert full["subject"]["numa_node"] == 0
    assert "page cache" in full["sentence"]


def test_a_bound_rank_gets_the_cache_dropped(lab: Callable[..., Lab]) -> None:
    """The near miss, and a false alarm elsewhere: the node is as full, and everything is at home."""
    seen = look(lab, "kept")
    ((rank, _),) = seen.told("kept")
    assert rank["mapped"]["anon"]["0"] > 100 * MIB
    assert seen.findings("kept") == []
    assert seen.findings() == ["info numa_balancing_on", "info virtual_topology"]
