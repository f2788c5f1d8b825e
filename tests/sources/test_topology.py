import struct
from collections.abc import Mapping

import pytest

from numa_exporter.model.machine import HugePagePool, NodeMemory, Topology
from numa_exporter.model.recording import Refusal
from numa_exporter.sources.replay import ReplayHost
from numa_exporter.sources.source import Outcome
from numa_exporter.sources.topology import TopologyReader
from tests.fakehost import DENIED, fake_host
from tests.sources.machines import CPUS, EMPTY, NODES, merged, node

TWO_NODES = merged(
    node(0, "0-1", "10 21"),
    node(8, "2-3", "21 10"),
    {f"{NODES}/online": "0,8\n", f"{NODES}/possible": "0,8-9\n", f"{NODES}/has_cpu": "0,8\n"},
    {f"{CPUS}/online": "0-3\n", f"{CPUS}/isolated": "3\n"},
    {f"{CPUS}/cpu{cpu}/topology/physical_package_id": f"{cpu // 2}\n" for cpu in range(4)},
    {"/proc/stat": "cpu  4 0 0 4\n" + "".join(f"cpu{cpu} 1{cpu}0 0 0 50\n" for cpu in range(4)) + "btime 1769860800\n"},
    {"/proc/meminfo": "MemTotal: 2048 kB\nHugepagesize: 2048 kB\n"},
    {"/proc/vmstat": "numa_hint_faults 9\nnuma_hint_faults_local 8\nnuma_pages_migrated 1\n"},
    {"/proc/sys/kernel/numa_balancing": "1\n", "/proc/sys/vm/zone_reclaim_mode": "0\n"},
    {"/proc/cpuinfo": "processor : 0\nflags : fpu hypervisor\n"},
)


def read(host: ReplayHost) -> tuple[Topology, Outcome[Topology]]:
    outcome = TopologyReader().read(host, EMPTY)
    assert outcome.value is not None
    return outcome.value, outcome


def test_a_machine_with_sparse_nodes() -> None:
    topology, outcome = read(fake_host(TWO_NODES))
    assert outcome.failure is None
    assert [each.id for each in topology.nodes] == [0, 8]
    second = topology.nodes[1]
    assert second.cpus == {2, 3}
    assert second.distances == {0: 21, 8: 10}
    assert second.memory == NodeMemory(total_bytes=1 << 20, free_bytes=1 << 19, reclaimable_bytes=None)
    assert second.numastat == {"hit": 108, "foreign": 7}
    assert second.hugepages == (HugePagePool(page_bytes=2 << 20, total_bytes=8 << 20, free_bytes=2 << 20),)
    assert topology.packages == {0: 0, 1: 0, 2: 1, 3: 1}
    assert topology.cpu_seconds[3] == {"user": 1.3, "nice": 0.0, "system": 0.0, "idle": 0.5}
    assert (topology.possible_nodes, topology.has_memory) == ({0, 8, 9}, None)
    assert (topology.online_cpus, topology.isolated_cpus) == ({0, 1, 2, 3}, {3})
    assert topology.balancing.mode == 1
    assert topology.balancing.hint_faults_local == 8
    assert topology.hypervisor is True
    assert topology.huge_page_bytes == 2 << 20
    assert topology.boot_time == 1769860800
    assert (topology.page_bytes, topology.clock_ticks) == (4096, 100)


def test_page_size_and_clock_ticks_come_from_the_auxiliary_vector() -> None:
    auxv = struct.pack("<6Q", 6, 65536, 17, 1000, 0, 0)
    topology, _ = read(fake_host({**TWO_NODES, "/proc/self/auxv": auxv}))
    assert (topology.page_bytes, topology.clock_ticks) == (65536, 1000)
    assert topology.cpu_seconds[0]["user"] == 0.1


def test_a_kernel_without_numa_has_no_nodes_and_no_failure() -> None:
    files = {path: text for path, text in TWO_NODES.items() if not path.startswith(NODES)}
    topology, outcome = read(fake_host(files))
    assert topology.nodes == ()
    assert outcome.failure is None
    assert topology.online_cpus == {0, 1, 2, 3}


def test_a_node_without_a_directory_is_no_node() -> None:
    """Half of a captured tree: ``online`` names two, one was kept. The columns of ``distance`` are still two."""
    kept = {path: text for path, text in TWO_NODES.items() if not path.startswith(f"{NODES}/node8")}
    topology, outcome = read(fake_host(kept))
    assert outcome.failure is None
    assert {node.id: dict(node.distances) for node in topology.nodes} == {0: {0: 10, 8: 21}}


def test_a_memory_node_has_no_cpus() -> None:
    topology, outcome = read(fake_host({**TWO_NODES, **node(8, "", "21 10")}))
    assert outcome.failure is None
    assert topology.nodes[1].cpus == frozenset()


def test_packages_that_the_firmware_does_not_know_are_absent() -> None:
    topology, _ = read(fake_host({**TWO_NODES, f"{CPUS}/cpu1/topology/physical_package_id": "-1\n"}))
    assert topology.packages == {0: 0, 2: 1, 3: 1}


def test_the_oldest_kernels_have_neither_online_nor_cpulist() -> None:
    gone = {f"{NODES}/online", f"{NODES}/node0/cpulist", f"{NODES}/node8/cpulist", f"{CPUS}/online"}
    files = {path: text for path, text in TWO_NODES.items() if path not in gone}
    masks = {f"{NODES}/node0/cpumap": "00000000,00000003\n", f"{NODES}/node8/cpumap": "0000000c\n"}
    topology, outcome = read(fake_host({**files, **masks}))
    assert outcome.failure is None
    assert {each.id: each.cpus for each in topology.nodes} == {0: {0, 1}, 8: {2, 3}}
    assert topology.online_cpus == {0, 1, 2, 3}


@pytest.mark.parametrize(
    ("path", "unknown"),
    [
        (f"{NODES}/node8/meminfo", lambda topology: topology.nodes[1].memory is None),
        (f"{NODES}/node8/numastat", lambda topology: topology.nodes[1].numastat == {}),
        (f"{NODES}/node8/distance", lambda topology: topology.nodes[1].distances == {}),
        (f"{NODES}/node8/hugepages/hugepages-2048kB/nr_hugepages", lambda topology: topology.nodes[1].hugepages == ()),
        ("/proc/stat", lambda topology: (topology.cpu_seconds, topology.boot_time) == ({}, None)),
        ("/proc/vmstat", lambda topology: topology.balancing.hint_faults is None),
        ("/proc/sys/kernel/numa_balancing", lambda topology: topology.balancing.mode is None),
        ("/proc/cpuinfo", lambda topology: topology.hypervisor is None),
        (f"{CPUS}/cpu1/topology/physical_package_id", lambda topology: topology.packages == {0: 0, 2: 1, 3: 1}),
    ],
)
@pytest.mark.parametrize(("content", "word"), [("\0garbage!\n", "garbled"), (DENIED, "denied")])
def test_a_bad_file_makes_only_its_own_part_unknown(
    path: str, unknown: object, content: str | Refusal, word: str
) -> None:
    whole, _ = read(fake_host(TWO_NODES))
    topology, outcome = read(fake_host({**TWO_NODES, path: content}))
    assert callable(unknown)
    assert unknown(topology)
    assert not unknown(whole)
    assert outcome.failure is not None
    assert (outcome.failure.word, outcome.failure.path) == (word, path)
    assert outcome.counts == {word: 1}
    assert topology.nodes[0] == whole.nodes[0]


def test_a_garbled_list_of_nodes_leaves_the_directories() -> None:
    topology, outcome = read(fake_host({**TWO_NODES, f"{NODES}/online": "0-\n"}))
    assert [each.id for each in topology.nodes] == [0, 8]
    assert outcome.failure is not None


def test_a_garbled_list_of_cpus_leaves_the_links() -> None:
    files = {
        **TWO_NODES,
        f"{NODES}/node8/cpulist": "2-x\n",
        f"{NODES}/node8/cpu2/online": "1",
        f"{NODES}/node8/cpu3/online": "1",
    }
    topology, outcome = read(fake_host(files))
    assert topology.nodes[1].cpus == {2, 3}
    assert outcome.failure is not None
    assert outcome.failure.word == "garbled"


def looks(changes: Mapping[str, str], seconds: float) -> list[Outcome[Topology]]:
    host = fake_host(TWO_NODES, later=[changes], seconds=seconds)
    reader = TopologyReader()
    first = reader.read(host, EMPTY)
    assert host.advance()
    return [first, reader.read(host, EMPTY)]


HOTPLUG = {
    f"{CPUS}/online": "0-2\n",
    "/proc/stat": "cpu  9 0 0 9\ncpu0 900 0 0 0\n",
    f"{NODES}/node0/numastat": "numa_hit 1\n",
}


def test_counters_are_fresh_in_each_tick_while_the_layout_is_kept_for_a_minute() -> None:
    _, second = looks(HOTPLUG, seconds=15)
    assert second.value is not None
    assert second.value.cpu_seconds == {0: {"user": 9.0, "nice": 0.0, "system": 0.0, "idle": 0.0}}
    assert second.value.nodes[0].numastat == {"hit": 1}
    assert second.value.online_cpus == {0, 1, 2, 3}


def test_the_layout_is_read_again_after_a_minute() -> None:
    _, second = looks(HOTPLUG, seconds=60)
    assert second.value is not None
    assert second.value.online_cpus == {0, 1, 2}


def test_a_broken_layout_is_not_kept() -> None:
    host = fake_host({**TWO_NODES, f"{NODES}/node8/distance": "x\n"}, later=[{f"{NODES}/node8/distance": "21 10\n"}])
    reader = TopologyReader()
    assert reader.read(host, EMPTY).failure is not None
    host.advance()
    second = reader.read(host, EMPTY)
    assert second.failure is None
    assert second.value is not None
    assert second.value.nodes[1].distances == {0: 21, 8: 10}
