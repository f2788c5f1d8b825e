"""Sockets of real machines' trees, against hwloc's count of packages and by hand where the machine is odd."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from numa_exporter.model.placement import Ledger, Machine
from numa_exporter.model.sample import HostFacts, Sample
from numa_exporter.model.thresholds import Settings
from numa_exporter.placement.join import join
from numa_exporter.sources.live import ForeignTree
from numa_exporter.sources.topology import TopologyReader
from tests.sources.trees import every_tree, oracle

EMPTY = Sample(host=HostFacts(nodename="tree", mode="replay"), taken_at=0.0, monotonic=0.0)

Trees = Callable[[str], ForeignTree]


def machine(tree: ForeignTree) -> Machine:
    topology = TopologyReader().read(tree, EMPTY).value
    found = join(replace(EMPTY, topology=topology), Ledger(), Settings()).machine
    assert found is not None
    return found


@every_tree
def test_a_known_socket_is_a_package_of_hwlocs(name: str, foreign_tree: Trees) -> None:
    found = machine(foreign_tree(name))
    assert bool(found.sockets) == (found.sockets_unknown is None)
    if name == "hwloc-offline-cpu0-node0":
        assert [socket.nodes for socket in found.sockets] == [(1,)], "hwloc counts the offline package too"
    elif found.sockets:
        assert len(found.sockets) == oracle(name)["lstopo_all"]["packages"]
    assert {node for socket in found.sockets for node in socket.nodes} == (
        {placed.id for placed in found.nodes if placed.online_cpus} if found.sockets else set()
    )


@pytest.mark.parametrize(
    ("name", "sockets"),
    [
        ("lscpu-x86_64-epyc_7451", {0: (0, 1, 2, 3), 1: (4, 5, 6, 7)}),
        ("hwloc-48amd64-4pa2n6c-sparse", {0: (0, 1), 1: (2, 33), 2: (34, 45), 3: (72, 73)}),
        ("ghw-linux-amd64-8581cf3a529e5d8b97ea876eade2", {0: (1,), 1: (0,)}),
        ("hwloc-nvidiagpunumanodes", {0: (0,), 8: (8,)}),
        ("hwloc-fakememinitiators-1np2c_1npp_gi", {0: (0, 2), 1: (1, 3)}),
        ("vm-4nodes-memless-cpuless-offline", {0: (0,), 1: (1,), 2: (2,)}),
    ],
)
def test_sockets(name: str, sockets: dict[int, tuple[int, ...]], foreign_tree: Trees, shared_data: object) -> None:
    found = machine(foreign_tree(name))
    assert {socket.id: socket.nodes for socket in found.sockets} == sockets


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("vm-numa-off", "node_spans_packages"),
        ("hwloc-8em64t-2s2ca2c-buggynuma", "node_spans_packages"),
        ("ghw-linux-amd64-offlineCPUs", "package_per_cpu"),
        ("lscpu-ppc64-POWER7-64cpu", "package_missing"),
        ("lscpu-armv7", "no_cpus"),
    ],
)
def test_why_sockets_are_unknown(name: str, why: str, foreign_tree: Trees, shared_data: object) -> None:
    assert machine(foreign_tree(name)).sockets_unknown == why


def test_nodes_without_cpus_go_to_the_socket_that_is_nearest(foreign_tree: Trees, shared_data: object) -> None:
    found = machine(foreign_tree("hwloc-fakememinitiators-1np2c_1npp_gi"))
    beside = {placed.id: (placed.kind, placed.socket) for placed in found.nodes if not placed.online_cpus}
    memory = {number: ("memory", number // 8) for number in range(5, 11)}
    assert beside == {4: ("gpu", 0), **memory}


def test_gpu_memory_as_far_from_either_socket_has_none(foreign_tree: Trees, shared_data: object) -> None:
    """POWER9: firmware gives every pair of these nodes the distance 80."""
    found = machine(foreign_tree("hwloc-nvidiagpunumanodes"))
    assert {placed.socket for placed in found.nodes if placed.id >= 250} == {None}
    assert all(placed.nearest == (0, 8) for placed in found.nodes if placed.id >= 250)
