"""How many GPUs requests could still take: by hand, and by a kubelet that is modelled in another way."""

from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numa_exporter.model.kubelet import AlignmentPolicy
from numa_exporter.placement.fragmentation import POLICIES, SIZES, stranded, usable
from tests.builders import nps4, placed, sample, two_socket
from tests.kubernetes.machines import Node, answer, offered

DGX = {f"GPU-{index}": index // 4 for index in range(8)}
NPS4 = {f"GPU-{index}": index // 2 for index in range(8)}


def free(*indexes: int) -> frozenset[str]:
    return frozenset(f"GPU-{index}" for index in indexes)


@pytest.mark.parametrize(
    ("size", "policy", "expected"),
    [
        (1, "any", 4),
        (2, "any", 4),
        (4, "any", 4),
        (8, "any", 0),
        (1, "single-numa-node", 4),
        (2, "single-numa-node", 4),
        (4, "single-numa-node", 0),
        # A node could hold four: two nodes are not what restricted waits for.
        (4, "restricted", 0),
        (8, "restricted", 0),
    ],
)
def test_four_gpus_are_free_two_on_each_socket(size: int, policy: AlignmentPolicy, expected: int) -> None:
    assert usable(DGX, free(0, 1, 4, 5), size, policy) == expected


def test_stranded_is_what_alignment_alone_costs() -> None:
    two_and_two = free(0, 1, 4, 5)
    assert {size: stranded(DGX, two_and_two, size, "single-numa-node") for size in SIZES} == {1: 0, 2: 0, 4: 4, 8: 0}


def test_a_request_that_no_node_could_ever_hold() -> None:
    everything = frozenset(DGX)
    # single-numa-node never admits eight of eight; that is not fragmentation, and nothing can be freed for it.
    assert usable(DGX, everything, 8, "single-numa-node") == 0
    assert stranded(DGX, everything, 8, "single-numa-node") == 0
    assert usable(DGX, everything, 8, "restricted") == 8
    assert stranded(DGX, everything - {"GPU-0"}, 8, "restricted") == 0


def test_restricted_takes_the_fewest_nodes_that_could_ever_hold_it() -> None:
    # Four nodes of two: four GPUs need two nodes, with two free on each of them.
    assert usable(NPS4, free(0, 1, 2, 3), 4, "restricted") == 4
    assert usable(NPS4, free(0, 2, 4, 6), 4, "restricted") == 0
    assert usable(NPS4, free(0, 1, 2, 4, 5, 6), 4, "restricted") == 4
    assert stranded(NPS4, free(0, 2, 4, 6), 4, "restricted") == 4


@pytest.mark.parametrize("policy", POLICIES)
def test_where_no_plugin_reports_a_node_every_policy_admits(policy: AlignmentPolicy) -> None:
    silent = dict.fromkeys(DGX)
    assert usable(silent, free(0, 1, 4, 5), 4, policy) == 4


def test_a_gpu_without_a_node_beside_others_with_one_is_in_no_hint() -> None:
    gpus = {**DGX, "GPU-9": None}
    assert usable(gpus, free(0, 1, 2) | {"GPU-9"}, 4, "any") == 4
    assert usable(gpus, free(0, 1, 2) | {"GPU-9"}, 4, "single-numa-node") == 0


def admitted(gpus: dict[str, int], left: frozenset[str], size: int, policy: AlignmentPolicy) -> int:
    """The most requests that one after the other are admitted, by trying every set of GPUs as the kubelet would."""
    if policy == "single-numa-node":
        width = 1
    else:
        fits = [len({gpus[gpu] for gpu in chosen}) for chosen in combinations(sorted(gpus), size)]
        if not fits:
            return 0
        width = min(fits)
    best = 0
    for chosen in combinations(sorted(left), size):
        if len({gpus[gpu] for gpu in chosen}) <= width:
            best = max(best, 1 + admitted(gpus, left - set(chosen), size, policy))
    return best


@given(
    nodes=st.lists(st.integers(0, 2), min_size=1, max_size=6),
    free_of=st.sets(st.integers(0, 5)),
    size=st.sampled_from((1, 2, 4)),
    policy=st.sampled_from(("restricted", "single-numa-node")),
)
def test_it_counts_what_trying_would_find(
    nodes: list[int], free_of: set[int], size: int, policy: AlignmentPolicy
) -> None:
    gpus = {f"GPU-{index}": node for index, node in enumerate(nodes)}
    left = frozenset(f"GPU-{index}" for index in free_of if index < len(nodes))
    assert usable(gpus, left, size, policy) == admitted(gpus, left, size, policy) * size


@given(
    nodes=st.lists(st.integers(0, 3), min_size=1, max_size=8),
    free_of=st.sets(st.integers(0, 7)),
    size=st.sampled_from(SIZES),
)
def test_laws(nodes: list[int], free_of: set[int], size: int) -> None:
    gpus = {f"GPU-{index}": node for index, node in enumerate(nodes)}
    left = frozenset(f"GPU-{index}" for index in free_of if index < len(nodes))
    by_policy = [usable(gpus, left, size, policy) for policy in POLICIES]
    assert by_policy == sorted(by_policy, reverse=True), "a stricter policy never admits more"
    assert by_policy[0] <= len(left)
    for policy in POLICIES:
        assert 0 <= stranded(gpus, left, size, policy) <= by_policy[0]
    renamed = {gpu: 7 - node for gpu, node in gpus.items()}
    assert [usable(renamed, left, size, policy) for policy in POLICIES] == by_policy


def test_free_is_what_nobody_was_granted() -> None:
    node = Node(two_socket()).granting("a", gpus=("GPU-2", "GPU-3")).granting("b", gpus=("GPU-6", "GPU-7"))
    promised = node.promises()
    assert [uuid for uuid, taken in promised.granted.items() if taken] == ["GPU-2", "GPU-3", "GPU-6", "GPU-7"]
    assert promised.usable[4, "any"] == 4
    assert promised.usable[4, "single-numa-node"] == 0
    assert promised.stranded == {1: 0, 2: 0, 4: 4, 8: 0}


@pytest.mark.parametrize(("topology", "expected"), [("none", 0), ("best-effort", 0), ("restricted", 4)])
def test_stranded_by_the_policy_in_force(topology: str, expected: int) -> None:
    node = Node(two_socket(), topology=topology).granting("a", gpus=("GPU-2", "GPU-3", "GPU-6", "GPU-7"))
    assert node.promises().stranded[4] == expected


def test_an_unknown_policy_strands_nothing_that_is_known() -> None:
    promised = Node(two_socket()).with_kubelet(config=None).promises()
    assert promised.stranded == {}
    assert promised.usable[8, "any"] == 8


def test_nodes_are_those_that_the_plugin_reports() -> None:
    everything = tuple(f"GPU-{index}" for index in range(8))
    node = Node(two_socket()).with_kubelet(allocatable=offered({None: everything}))
    assert node.promises().usable[8, "single-numa-node"] == 8


def test_shares_and_instances_are_no_whole_gpus() -> None:
    node = Node(two_socket()).with_kubelet(allocatable=offered({0: ("GPU-0::0", "GPU-0::1", "GPU-1"), 1: ("GPU-4",)}))
    promised = node.with_kubelet(pods=(answer("a", "GPU-0::1"),)).promises()
    assert promised.granted == {"GPU-0": True, "GPU-1": False, "GPU-4": False}
    assert promised.usable[1, "any"] == 2


def test_two_resources_never_add_up_to_one_request() -> None:
    parts = nps4()
    both = (*offered({0: ("GPU-0",)}, "nvidia.com/gpu").devices, *offered({0: ("GPU-1",)}, "nvidia.com/big").devices)
    node = Node(parts).with_kubelet(allocatable=offered({}))
    allocatable = node.kubelet.allocatable
    assert allocatable is not None
    promised = node.with_kubelet(allocatable=replace(allocatable, devices=both)).promises()
    assert promised.usable[1, "any"] == 2
    assert promised.usable[2, "any"] == 0


def test_without_a_kubelet_nothing_is_promised() -> None:
    assert placed(sample(two_socket())).promises is None
