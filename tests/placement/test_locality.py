"""Contract §1: home, memory home, and the locality of every node against them."""

from dataclasses import replace

from numa_exporter.placement.locality import Home, counted, home
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


def home_on(parts: Parts, *uuids: str) -> Home:
    machine = placed(sample(parts)).machine
    assert machine is not None
    return home(machine, uuids)


class TestHome:
    def test_the_union_of_the_affinities(self) -> None:
        assert home_on(two_socket(), "GPU-0").nodes == {0}
        assert home_on(two_socket(), "GPU-0", "GPU-7").nodes == {0, 1}

    def test_unknown_as_soon_as_one_affinity_is(self) -> None:
        parts = two_socket(0).with_gpus(gpu(0, 0), gpu(1, None))
        found = home_on(parts, "GPU-0", "GPU-1")
        assert found.nodes == frozenset() and set(found.on_cpu.values()) == {None}

    def test_a_gpu_that_nobody_lists_has_no_affinity(self) -> None:
        assert home_on(two_socket(), "GPU-99").nodes == frozenset()

    def test_memory_home_is_those_that_have_memory(self) -> None:
        """P32 and P33."""
        nodes = (
            node(0, "0-3", {0: 10, 1: 12, 2: 32}),
            node(1, "4-7", {0: 12, 1: 10, 2: 32}, memory=0),
            node(2, "8-11", {0: 32, 1: 32, 2: 10}),
        )
        machine = topology(*nodes, packages={0: 0, 1: 0, 2: 1})
        both = replace(two_socket(0), topology=machine).with_gpus(gpu(0, 0), gpu(1, 1))
        assert home_on(both, "GPU-0", "GPU-1").memory_nodes == {0}
        alone = home_on(both, "GPU-1")
        assert alone.memory_nodes == {0}, "the nearest node with memory"
        assert alone.in_memory[0] == "local" and alone.in_memory[2] == "remote"
        assert alone.on_cpu[0] == "socket", "threads are not at home there"

    def test_the_nearest_memory_is_that_of_its_own_socket_where_distances_do_not_tell(self) -> None:
        """P32, in a guest whose hypervisor gives no distance table."""
        nodes = (
            node(0, "0-3", {0: 10, 1: 20, 2: 20}, memory=0),
            node(1, "4-7", {0: 20, 1: 10, 2: 20}),
            node(2, "8-11", {0: 20, 1: 20, 2: 10}),
        )
        machine = topology(*nodes, packages={0: 0, 1: 0, 2: 1})
        found = home_on(replace(two_socket(0), topology=machine).with_gpus(gpu(0, 0)), "GPU-0")
        assert found.memory_nodes == {1}
        assert found.in_memory[1] == "local" and found.in_memory[2] == "remote"

    def test_memory_beside_a_home_node_without_any_is_on_a_home_socket(self) -> None:
        """Its own memory home is another home node, four sockets away."""
        nodes = (
            node(0, "0-3", {0: 10, 1: 12, 2: 32, 3: 32}, memory=0),
            node(1, "4-7", {0: 12, 1: 10, 2: 32, 3: 32}),
            node(2, "8-11", {0: 32, 1: 32, 2: 10, 3: 32}),
            node(3, "12-15", {0: 32, 1: 32, 2: 32, 3: 10}),
        )
        machine = topology(*nodes, packages={0: 0, 1: 0, 2: 1, 3: 2})
        parts = replace(two_socket(0), topology=machine).with_gpus(gpu(0, 0), gpu(1, 2))
        found = home_on(parts, "GPU-0", "GPU-1")
        assert found.memory_nodes == {2}
        assert found.in_memory == {0: "socket", 1: "socket", 2: "local", 3: "remote"}

    def test_a_gpus_memory_is_no_memory_home(self) -> None:
        parts = gb200()
        nodes = [replace(one, memory=None) if one.id == 0 else one for one in parts.topology.nodes]
        parts = parts.change_topology(nodes=tuple(nodes), has_memory=frozenset({1, 2, 10, 18, 26}))
        assert home_on(parts, "GPU-0").memory_nodes == {1}


class TestLocality:
    def test_local_and_remote(self) -> None:
        assert home_on(two_socket(), "GPU-0").on_cpu == {0: "local", 1: "remote"}

    def test_another_node_of_a_home_socket_is_socket(self) -> None:
        found = home_on(nps4(), "GPU-1").on_cpu
        assert found == {0: "socket", 1: "local", 2: "socket", 3: "socket"} | dict.fromkeys(range(4, 8), "remote")

    def test_only_local_and_remote_where_sockets_are_unknown(self) -> None:
        found = home_on(nps4().change_topology(packages={}), "GPU-1").on_cpu
        assert found == {0: "remote", 1: "local"} | dict.fromkeys(range(2, 8), "remote")

    def test_the_ranks_own_gpu_memory_is_device(self) -> None:
        found = home_on(gb200(), "GPU-0").in_memory
        assert found[2] == "device"

    def test_another_gpus_memory_takes_the_class_of_its_cpu_node(self) -> None:
        found = home_on(gb200(), "GPU-0").in_memory
        assert (found[10], found[18], found[26]) == ("local", "remote", "remote")

    def test_an_empty_slot_beside_a_gpu_takes_the_class_of_the_nearest_cpu_node(self) -> None:
        found = home_on(gb200(), "GPU-0").in_memory
        assert (found[3], found[19]) == ("local", "remote")

    def test_a_memory_node_is_at_best_socket(self) -> None:
        """P33."""
        found = home_on(memory_only(), "GPU-0").in_memory
        assert found == {0: "local", 1: "remote", 2: "socket", 3: None}
        assert home_on(memory_only(), "GPU-1").in_memory == {0: "remote", 1: "local", 2: "remote", 3: None}

    def test_a_memory_node_near_home_has_no_class_where_sockets_are_unknown(self) -> None:
        found = home_on(memory_only().change_topology(packages={}), "GPU-0").in_memory
        assert found == {0: "local", 1: "remote", 2: None, 3: None}

    def test_a_home_on_both_sockets_leaves_nothing_remote(self) -> None:
        assert set(home_on(nps4(), "GPU-0", "GPU-4").on_cpu.values()) == {"local", "socket"}

    def test_renaming_nodes_permutes_localities(self) -> None:
        straight = home_on(two_socket(), "GPU-0").on_cpu
        nodes = node(7, "0-15,32-47", {7: 10, 3: 21}), node(3, "16-31,48-63", {7: 21, 3: 10})
        renamed = replace(two_socket(0), topology=topology(*nodes, packages={7: 0, 3: 1})).with_gpus(gpu(0, 7))
        assert home_on(renamed, "GPU-0").on_cpu == {7: straight[0], 3: straight[1]}


class TestIndistinct:
    def test_where_home_covers_every_socket_of_several(self) -> None:
        assert home_on(two_socket(), "GPU-0", "GPU-7").indistinct
        assert home_on(nps4(), "GPU-0", "GPU-4").indistinct

    def test_not_on_one_socket(self) -> None:
        assert not home_on(single_node(), "GPU-0").indistinct

    def test_not_where_one_socket_is_left(self) -> None:
        assert not home_on(nps4(), "GPU-0", "GPU-1", "GPU-2").indistinct

    def test_where_the_one_node_spans_packages(self) -> None:
        parts = single_node().change_topology(packages={cpu: cpu // 4 for cpu in range(8)})
        assert home_on(parts, "GPU-0").indistinct

    def test_not_on_a_virtual_machine_of_one_node(self) -> None:
        parts = single_node().change_topology(packages={cpu: cpu for cpu in range(8)})
        assert not home_on(parts, "GPU-0").indistinct

    def test_where_sockets_are_unknown_and_home_is_every_node(self) -> None:
        """A virtual machine whose NVML affinity is all of its four nodes."""
        parts = nps4().change_topology(packages={}).with_gpus(gpu(0, None, nvml_affinity=cpus("0-7")))
        assert home_on(parts, "GPU-0").indistinct


class TestCounted:
    def test_known_zeros(self) -> None:
        flat = placed(sample(two_socket())).machine
        split = placed(sample(nps4())).machine
        assert flat and split
        assert counted(flat, home(flat, ["GPU-0"]).on_cpu, {}) == {"local": 0, "remote": 0}
        assert counted(split, home(split, ["GPU-0"]).on_cpu, {3: 2}) == {"local": 0, "socket": 2, "remote": 0}
