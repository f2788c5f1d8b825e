"""Contract §1: kinds of nodes, sockets and when they are unknown, their use, devices and paths."""

from dataclasses import replace

import pytest

from numa_exporter.model.machine import Balancing, NumaNode
from numa_exporter.model.placement import Machine
from tests.builders import (
    Parts,
    function,
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


def machine(*parts: Parts) -> Machine:
    """The machine after looks 15 seconds apart."""
    found = placed(*(sample(one, at=15.0 * look) for look, one in enumerate(parts))).machine
    assert found is not None
    return found


def kinds(found: Machine) -> dict[int, str]:
    return {one.id: one.kind for one in found.nodes}


def sockets(found: Machine) -> dict[int, int | None]:
    return {one.id: one.socket for one in found.nodes}


def with_nodes(*nodes: NumaNode, packages: dict[int, int]) -> Parts:
    return replace(two_socket(0), topology=topology(*nodes, packages=packages))


class TestKinds:
    def test_a_node_with_cpus_is_cpu_and_one_without_is_memory(self) -> None:
        assert kinds(machine(memory_only())) == {0: "cpu", 1: "cpu", 2: "memory", 3: "memory"}

    def test_device_memory_shown_as_a_node_is_gpu(self) -> None:
        found = kinds(machine(gb200()))
        assert found[0] == found[1] == "cpu"
        assert {found[number] for number in range(2, 34)} == {"gpu"}

    def test_a_gpus_memory_node_is_gpu_where_the_kernel_names_no_generic_initiators(self) -> None:
        parts = gb200().change_topology(has_generic_initiator=None)
        found = kinds(machine(parts))
        assert {number for number, kind in found.items() if kind == "gpu"} == {2, 10, 18, 26}

    def test_a_node_whose_cpus_are_all_offline_is_memory(self) -> None:
        """So the kernel's own cpulist and has_cpu show it; some captured trees keep the whole list."""
        parts = two_socket()
        online = frozenset(cpu for cpu, package in parts.topology.packages.items() if package == 1)
        found = machine(parts.change_topology(online_cpus=online))
        assert kinds(found) == {0: "memory", 1: "cpu"}
        assert sockets(found) == {0: 1, 1: 1}
        assert {placed_gpu.affinity for placed_gpu in found.gpus} == {(1,)}

    def test_sparse_ids_are_kept(self) -> None:
        parts = with_nodes(node(1, "0-3", {1: 10, 8: 20}), node(8, "4-7", {1: 20, 8: 10}), packages={1: 0, 8: 1})
        assert sockets(machine(parts)) == {1: 0, 8: 1}

    def test_a_kernel_without_numa_has_no_nodes(self) -> None:
        found = machine(with_nodes(packages={}))
        assert found.nodes == () and found.sockets == () and found.sockets_unknown == "no_cpus"


class TestSockets:
    def test_nodes_of_one_package_are_a_socket(self) -> None:
        found = machine(nps4())
        assert [(one.id, one.nodes) for one in found.sockets] == [(0, (0, 1, 2, 3)), (1, (4, 5, 6, 7))]
        assert found.sockets_unknown is None

    def test_a_socket_without_memory_is_a_socket(self) -> None:
        """P32: nodes with CPUs but without memory are no less real."""
        nodes = node(0, "0-3", {0: 10, 1: 20}), node(1, "4-7", {0: 20, 1: 10}, memory=0)
        found = machine(with_nodes(*nodes, packages={0: 0, 1: 1}))
        assert sockets(found) == {0: 0, 1: 1}
        assert [one.has_memory for one in found.nodes] == [True, False]

    def test_unknown_where_a_package_id_is_missing(self) -> None:
        nodes = node(0, "0-3", {}), node(1, "4-7", {})
        found = machine(with_nodes(*nodes, packages={0: 0}))
        assert found.sockets == () and found.sockets_unknown == "package_missing"

    def test_unknown_where_every_cpu_claims_a_package_of_its_own(self) -> None:
        parts = two_socket().change_topology(packages={cpu: cpu for cpu in range(64)})
        found = machine(parts)
        assert found.sockets == () and found.sockets_unknown == "package_per_cpu"

    def test_unknown_where_one_node_spans_packages(self) -> None:
        parts = single_node().change_topology(packages={cpu: cpu // 4 for cpu in range(8)})
        found = machine(parts)
        assert found.sockets == () and found.sockets_unknown == "node_spans_packages"

    def test_an_offline_cpu_without_a_package_does_not_hide_the_sockets(self) -> None:
        parts = two_socket()
        online = parts.topology.online_cpus - {63}
        packages = {cpu: package for cpu, package in parts.topology.packages.items() if cpu != 63}
        found = machine(parts.change_topology(online_cpus=online, packages=packages))
        assert len(found.sockets) == 2
        assert 63 not in found.sockets[1].cpus

    def test_a_single_cpu_has_a_socket(self) -> None:
        assert len(machine(with_nodes(node(0, "0", {0: 10}), packages={0: 0})).sockets) == 1

    def test_memory_has_the_socket_of_its_nearest_cpu_node_and_none_on_a_tie_across_sockets(self) -> None:
        found = machine(memory_only())
        assert sockets(found) == {0: 0, 1: 1, 2: 0, 3: None}
        assert {one.id: one.nearest for one in found.nodes} == {0: (0,), 1: (1,), 2: (0,), 3: (0, 1)}

    def test_memory_without_distances_has_no_socket(self) -> None:
        nodes = node(0, "0-3", {}), node(1, "4-7", {}), node(2, "", {})
        assert sockets(machine(with_nodes(*nodes, packages={0: 0, 1: 1})))[2] is None

    def test_gpu_memory_has_the_socket_of_its_nearest_cpu_node(self) -> None:
        found = sockets(machine(gb200()))
        assert (found[2], found[10], found[18], found[26]) == (0, 0, 1, 1)

    def test_gpu_memory_has_the_socket_of_its_gpu_where_distances_do_not_tell(self) -> None:
        """POWER9: every pair of a GPU's node and a CPU's is 80 apart."""
        flat = {0: {0: 10, 8: 40, 255: 80}, 8: {0: 40, 8: 10, 255: 80}, 255: {0: 80, 8: 80, 255: 10}}
        nodes = node(0, "0-3", flat[0]), node(8, "4-7", flat[8]), node(255, "", flat[255])
        parts = with_nodes(*nodes, packages={0: 0, 8: 8})
        assert sockets(machine(parts.with_gpus(gpu(0, 8, memory_node=255)))) == {0: 0, 8: 8, 255: 8}
        assert sockets(machine(parts.with_gpus(gpu(0, None, memory_node=255)))) == {0: 0, 8: 8, 255: None}


class TestCpuTime:
    @staticmethod
    def spent(user: float, idle: float, cpus: range = range(64)) -> dict[int, dict[str, float]]:
        """/proc/stat of socket 0 (nodes 0) busy, socket 1 idle."""
        return {
            cpu: {"user": user, "idle": idle, "iowait": 0.0}
            if cpu < 16 or 32 <= cpu < 48
            else {"user": 0.0, "idle": user + idle, "iowait": 0.0}
            for cpu in cpus
        }

    def test_utilization_needs_two_readings(self) -> None:
        first = two_socket().change_topology(cpu_seconds=self.spent(100.0, 900.0))
        assert [one.utilization for one in machine(first).sockets] == [None, None]

    def test_utilization_is_of_the_last_interval(self) -> None:
        first = two_socket().change_topology(cpu_seconds=self.spent(100.0, 900.0))
        second = two_socket().change_topology(cpu_seconds=self.spent(106.0, 909.0))
        busy, idle = (one.utilization for one in machine(first, second).sockets)
        assert busy == pytest.approx(6 / 15)
        assert idle == pytest.approx(0.0)

    def test_utilization_stays_until_the_next_reading(self) -> None:
        first = two_socket().change_topology(cpu_seconds=self.spent(100.0, 900.0))
        second = two_socket().change_topology(cpu_seconds=self.spent(106.0, 909.0))
        again = sample(second, at=30.0)
        last = replace(again, topology=replace(second.topology, read_at=sample(second, at=15.0).taken_at))
        found = placed(sample(first), sample(second, at=15.0), last).machine
        assert found is not None and found.sockets[0].utilization == pytest.approx(6 / 15)

    def test_cpu_seconds_are_folded_by_socket_and_node(self) -> None:
        found = machine(two_socket().change_topology(cpu_seconds=self.spent(1.0, 2.0)))
        assert found.cpu_seconds[0, 0] == {"user": 32.0, "idle": 64.0, "iowait": 0.0}
        assert found.cpu_seconds[1, 1] == {"user": 0.0, "idle": 96.0, "iowait": 0.0}

    def test_a_cpu_that_goes_offline_makes_no_counter_fall(self) -> None:
        first = two_socket().change_topology(cpu_seconds=self.spent(100.0, 900.0))
        online = first.topology.online_cpus - {0}
        gone = first.change_topology(online_cpus=online, cpu_seconds=self.spent(101.0, 901.0, range(1, 64)))
        later = first.change_topology(online_cpus=online, cpu_seconds=self.spent(102.0, 902.0, range(1, 64)))
        totals = [
            found.cpu_seconds[0, 0]["user"]
            for found in (machine(first), machine(first, gone), machine(first, gone, later))
        ]
        assert totals == [3200.0, 3200.0, 3231.0]


class TestEvents:
    @staticmethod
    def counted(miss: int, faults: int, local: int, migrated: int) -> Parts:
        parts = two_socket()
        first, second = parts.topology.nodes
        own = Balancing(mode=1, hint_faults=faults, hint_faults_local=local, pages_migrated=migrated)
        return parts.change_topology(nodes=(replace(first, numastat={"miss": miss}), second), balancing=own)

    def test_a_sum_that_the_kernel_took_while_it_moved_makes_no_counter_fall(self) -> None:
        """One local fault fell between the reading of all and of the local ones."""
        first, early, later = self.counted(7, 100, 60, 9), self.counted(6, 100, 61, 8), self.counted(9, 104, 63, 12)
        seen = [machine(first), machine(first, early), machine(first, early, later)]
        assert [one.allocations[0, "miss"] for one in seen] == [7, 7, 9]
        assert [one.balancing.hint_faults_local for one in seen] == [60, 61, 63]
        remote = [(one.balancing.hint_faults or 0) - (one.balancing.hint_faults_local or 0) for one in seen]
        assert remote == [40, 40, 41]
        assert [one.balancing.pages_migrated for one in seen] == [9, 9, 12]
        assert [one.balancing.mode for one in seen] == [1, 1, 1]

    def test_counters_that_were_set_to_zero_go_on(self) -> None:
        first, zeroed, later = self.counted(700, 1, 1, 0), self.counted(0, 1, 1, 0), self.counted(5, 1, 1, 0)
        assert machine(first, zeroed).allocations[0, "miss"] == 700
        assert machine(first, zeroed, later).allocations[0, "miss"] == 705

    def test_two_frames_of_one_moment_are_one_reading(self) -> None:
        """A bundle made by hand: what only the second says is not known yet."""
        found = placed(sample(two_socket()), sample(self.counted(7, 100, 60, 9))).machine
        assert found is not None
        assert found.allocations == {}
        assert found.balancing == Balancing(mode=1)

    def test_what_is_unknown_stays_unknown(self) -> None:
        found = machine(self.counted(7, 100, 60, 9), two_socket())
        assert found.balancing == Balancing()


class TestDevicesAndPaths:
    def test_one_path_for_each_unordered_pair_of_gpus(self) -> None:
        pairs = [frozenset({path.uuid, path.peer}) for path in machine(two_socket(4)).paths if path.peer_class == "gpu"]
        assert len(pairs) == len(set(pairs)) == 6

    def test_classes_follow_the_tree(self) -> None:
        found = {(path.uuid, path.peer): path.path for path in machine(two_socket(4)).paths}
        assert found["GPU-0", "mlx5_0"] == "PIX"
        assert found["GPU-0", "GPU-1"] == "PHB"
        assert found["GPU-0", "GPU-2"] == "SYS"

    def test_no_path_between_a_c2c_gpu_and_a_nic(self) -> None:
        found = machine(gb200())
        assert {path.peer_class for path in found.paths} == {"gpu"}

    def test_a_path_between_host_bridges_of_unknown_nodes_is_left_out(self) -> None:
        parts = two_socket(0).with_gpus(
            replace(gpu(0, 0), function=function(0x10, None, "pci0000:00")),
            replace(gpu(1, 1), function=function(0x11, None, "pci0000:40")),
        )
        assert machine(parts).paths == ()

    def test_interrupts_are_set_against_the_devices_own_node(self) -> None:
        parts = two_socket(1)
        device = replace(parts.devices.devices[0], interrupts={0: 10, 16: 4, 63: 1, 99: 7})
        found = machine(replace(parts, devices=replace(parts.devices, devices=(device,))))
        assert found.devices[0].interrupts == {"local": 10, "remote": 5}
        assert found.devices[0].socket == 0

    def test_a_function_with_two_devices_of_one_name_fires_once(self) -> None:
        """rdma-core and systemd both call an InfiniBand port ibp59s0."""
        parts = two_socket(1)
        rdma = replace(parts.devices.devices[0], name="ibp59s0", interrupts={0: 10, 16: 4})
        ipoib = replace(rdma, device_class="nic")
        found = machine(replace(parts, devices=replace(parts.devices, devices=(ipoib, rdma))))
        assert [one.interrupts for one in found.devices] == [{"local": 10, "remote": 4}] * 2

    @pytest.mark.parametrize("distances", [{}, {0: 20, 1: 20, 2: 10}])
    def test_interrupts_of_a_device_on_memory_between_sockets_have_no_locality(self, distances: dict[int, int]) -> None:
        """Nobody knows where it is: neither 0 local nor all local."""
        nodes = node(0, "0-3", {0: 10, 1: 21}), node(1, "4-7", {0: 21, 1: 10}), node(2, "", distances)
        device = two_socket(1).devices.devices[0]
        there = replace(device, interrupts={0: 5}, function=replace(device.function, numa_node=2))
        parts = with_nodes(*nodes, packages={0: 0, 1: 1})
        found = machine(replace(parts, devices=replace(parts.devices, devices=(there,))))
        assert found.devices[0].interrupts is None

    def test_interrupts_of_a_device_without_a_node_have_no_locality(self) -> None:
        parts = two_socket(1)
        device = parts.devices.devices[0]
        nowhere = replace(device, interrupts={0: 1}, function=replace(device.function, numa_node=None))
        found = machine(replace(parts, devices=replace(parts.devices, devices=(nowhere,))))
        assert found.devices[0].interrupts is None and found.devices[0].socket is None

    def test_interrupt_counts_do_not_fall_when_they_wrap(self) -> None:
        parts = two_socket(1)

        def after(count: int) -> Parts:
            device = replace(parts.devices.devices[0], interrupts={0: count})
            return replace(parts, devices=replace(parts.devices, devices=(device,)))

        found = machine(after(4_294_967_290), after(5), after(15)).devices[0].interrupts
        assert found == {"local": 4_294_967_300, "remote": 0}

    def test_a_virtual_machine_says_so(self) -> None:
        assert machine(two_socket().change_topology(hypervisor=True)).virtual is True
        assert machine(two_socket()).virtual is None
