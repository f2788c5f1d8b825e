"""Contract §1, affinity of a GPU: sysfs, NVML ∩ nodes with CPUs, the only node with CPUs, unknown; never node 0."""

from dataclasses import replace

import pytest

from numa_exporter.model.gpus import MigInstance
from numa_exporter.model.placement import PlacedGpu
from tests.builders import (
    Parts,
    cpus,
    gb200,
    gpu,
    memory_only,
    node,
    nps4,
    placed,
    sample,
    single_node,
    topology,
    two_socket,
)


def affinity(parts: Parts, index: int = 0) -> PlacedGpu:
    machine = placed(sample(parts)).machine
    assert machine is not None
    return machine.gpus[index]


def test_sysfs_comes_first() -> None:
    found = affinity(two_socket(0).with_gpus(gpu(0, 1, nvml_affinity=cpus("0"))))
    assert (found.affinity, found.source, found.sockets) == ((1,), "sysfs", {1})


def test_nvml_where_firmware_left_the_node_out() -> None:
    """P26: sysfs says -1, NVML's memory affinity is right."""
    found = affinity(two_socket(0).with_gpus(gpu(0, None, nvml_affinity=cpus("1"))))
    assert (found.affinity, found.source) == ((1,), "nvml")


def test_sysfs_is_enough_where_nvml_does_not_say() -> None:
    """P27: NVML's NUMA queries are not supported on an L4; P24: nor are they for some MIG devices."""
    found = affinity(two_socket(0).with_gpus(gpu(0, 1, mig=(MigInstance(uuid="MIG-1", gpu_instance_id=7),))))
    assert (found.affinity, found.source) == ((1,), "sysfs")


def test_nvmls_affinity_is_cut_to_nodes_with_cpus() -> None:
    parts = gb200()
    cards = [
        replace(card, function=replace(card.function, numa_node=None)) for card in parts.gpus.gpus if card.function
    ]
    parts = parts.with_gpus(*cards)
    assert [affinity(parts, index).affinity for index in range(4)] == [(0,), (0,), (1,), (1,)]
    assert affinity(parts).source == "nvml"


def test_the_only_node_with_cpus() -> None:
    """P29: nine nodes, of which one has CPUs."""
    nodes = [node(0, "0-71", {0: 10}), *(node(number, "", {0: 80}) for number in range(1, 9))]
    parts = replace(two_socket(0), topology=topology(*nodes, packages={0: 0})).with_gpus(gpu(0, None))
    found = affinity(parts)
    assert (found.affinity, found.source) == ((0,), "only_node")
    assert affinity(single_node()).source == "only_node"


def test_unknown_is_not_node_0() -> None:
    """P23: a device without topology is not on node 0."""
    found = affinity(two_socket(0).with_gpus(gpu(0, None)))
    assert (found.affinity, found.source, found.sockets) == ((), None, frozenset())


def test_an_nvml_affinity_without_any_node_with_cpus_is_no_answer() -> None:
    found = affinity(memory_only().with_gpus(gpu(0, None, nvml_affinity=cpus("2-3"))))
    assert (found.affinity, found.source) == ((), None)


def test_several_affine_nodes() -> None:
    found = affinity(nps4().with_gpus(gpu(0, None, nvml_affinity=cpus("0-3"))))
    assert (found.affinity, found.sockets) == ((0, 1, 2, 3), {0})


def test_a_node_without_cpus_stands_for_the_cpu_nodes_nearest_to_it() -> None:
    found = affinity(memory_only().with_gpus(gpu(0, 2)))
    assert (found.affinity, found.source) == ((0,), "sysfs")


def test_a_node_as_near_to_one_socket_as_to_another_says_nothing() -> None:
    assert affinity(memory_only().with_gpus(gpu(0, 3))).affinity == ()
    by_nvml = affinity(memory_only().with_gpus(gpu(0, 3, nvml_affinity=cpus("1"))))
    assert (by_nvml.affinity, by_nvml.source) == ((1,), "nvml")


def test_a_node_that_the_kernel_does_not_have_says_nothing() -> None:
    assert affinity(two_socket(0).with_gpus(gpu(0, 7))).affinity == ()


def test_a_gpus_own_memory_node_is_not_its_affinity() -> None:
    assert [affinity(gb200(), index).affinity for index in range(4)] == [(0,), (0,), (1,), (1,)]


@pytest.mark.parametrize("numa_node", [None, 0])
def test_a_kernel_without_nodes_knows_no_affinity(numa_node: int | None) -> None:
    parts = replace(two_socket(0), topology=topology()).with_gpus(gpu(0, numa_node, nvml_affinity=cpus("0")))
    assert affinity(parts).affinity == ()
