"""Every real machine's tree, read as --path.rootfs would, says what its oracle says."""

from collections.abc import Callable

import pytest

from numa_exporter.formats import idlist, pci_address
from numa_exporter.model.recording import Recording
from numa_exporter.model.sample import HostFacts, Sample
from numa_exporter.sources import pci
from numa_exporter.sources.devices import DevicesReader
from numa_exporter.sources.gpus import GpusReader
from numa_exporter.sources.host import Host
from numa_exporter.sources.live import ForeignTree
from numa_exporter.sources.look import Look
from numa_exporter.sources.replay import RecordingHost, ReplayHost
from numa_exporter.sources.topology import TopologyReader
from tests.sources.trees import every_tree, oracle, raw

Trees = Callable[[str], ForeignTree]
EMPTY = Sample(host=HostFacts(nodename="tree", mode="replay"), taken_at=0.0, monotonic=0.0)


def ids(text: str | None) -> frozenset[int] | None:
    return None if text is None else idlist.parse(text, "oracle")


@every_tree
def test_nodes_cpus_memory_and_distances(name: str, foreign_tree: Trees) -> None:
    outcome = TopologyReader().read(foreign_tree(name), EMPTY)
    topology, told = outcome.value, raw(name)
    assert outcome.failure is None
    assert topology is not None
    assert {str(node.id) for node in topology.nodes} == set(told["nodes"])
    for node in topology.nodes:
        facts = told["nodes"][str(node.id)]
        if facts["cpulist"] is None:  # an old kernel's tree: lscpu reads the mask as well
            facts["cpulist"] = oracle(name)["lscpu"].get(f"NUMA node{node.id} CPU(s)", idlist.render(node.cpus))
        assert node.cpus == ids(facts["cpulist"])
        assert list(node.distances.values()) == [int(word) for word in (facts["distance"] or "").split()]
        total = facts["MemTotal_kB"]
        assert (node.memory and node.memory.total_bytes) == (None if total is None else total * 1024)
    assert topology.possible_nodes == ids(told.get("node_possible"))
    assert topology.has_cpu == ids(told.get("node_has_cpu"))
    assert topology.has_memory == ids(told.get("node_has_memory"))
    assert topology.has_generic_initiator == ids(told.get("node_has_generic_initiator"))
    assert topology.isolated_cpus == (ids(told.get("cpu_isolated")) or frozenset())
    if "cpu_online" in told:
        assert topology.online_cpus == ids(told["cpu_online"])


@pytest.mark.parametrize(
    ("name", "cpus"),
    [
        ("hwloc-8ia64-2n2s2c", {0: "0-3", 1: "4-7"}),
        ("hwloc-16em64t-4s2ca2c-cpusetreorder", {0: "0-15"}),
        ("hwloc-fakeheterocpunuma", {0: "0-3", 1: "8-11", 2: "", 3: "20-23", 4: "16-23", 5: "12-23"}),
    ],
)
def test_nodes_that_have_only_masks(name: str, cpus: dict[int, str], foreign_tree: Trees, shared_data: object) -> None:
    topology = TopologyReader().read(foreign_tree(name), EMPTY).value
    assert topology is not None
    assert {node.id: idlist.render(node.cpus) for node in topology.nodes} == cpus


@every_tree
def test_packages_are_lstopos(name: str, foreign_tree: Trees) -> None:
    topology = TopologyReader().read(foreign_tree(name), EMPTY).value
    assert topology is not None
    if topology.packages:  # lstopo knows other sources where the files say nothing
        assert len(set(topology.packages.values())) == oracle(name)["lstopo_all"]["packages"]


@every_tree
def test_pci_functions_and_their_nodes(name: str, foreign_tree: Trees) -> None:
    host, told = foreign_tree(name), raw(name)
    topology = TopologyReader().read(host, EMPTY).value
    assert topology is not None
    cpus = {node.id: node.cpus & topology.online_cpus for node in topology.nodes}
    look = Look(host)
    assert {address.sysfs for address in pci.addresses(look)} >= set(told["pci"])
    for text, facts in told["pci"].items():
        address = pci_address.parse(text)
        assert address is not None
        function = pci.read_function(look, address, vendor=0)
        assert function is not None
        assert function.pci_class == int(facts["class"], 16)
        if "numa_node" in facts:
            node = int(facts["numa_node"])
            assert function.vendor == int(facts["vendor"], 16)
            assert function.numa_node == (None if node < 0 else node)
            if function.numa_node in cpus and not name.endswith("pcilocality"):  # local CPUs changed by hand
                assert ids(facts["local_cpulist"]) == cpus[function.numa_node]
    assert look.failure is None


@every_tree
def test_gpus_and_devices_are_read_without_a_failure(name: str, foreign_tree: Trees) -> None:
    gpus = GpusReader().read(foreign_tree(name), EMPTY)
    devices = DevicesReader().read(foreign_tree(name), EMPTY)
    assert (gpus.failure, devices.failure) == (None, None)
    assert gpus.value is not None
    assert not gpus.value.nvml
    told = raw(name)
    nodes = {gpu.function.address.sysfs: gpu.memory_node for gpu in gpus.value.gpus if gpu.function}
    for address, status in told.get("nvidia_numa_status", {}).items():
        assert nodes[address] == int(status["Node"])


@every_tree
def test_a_recorded_look_is_the_same_look(name: str, foreign_tree: Trees) -> None:
    recorder = RecordingHost(foreign_tree(name))

    def look_twice(host: Host, step: Callable[[], object]) -> list[object]:
        readers = TopologyReader(), GpusReader(), DevicesReader()
        first = [reader.read(host, EMPTY) for reader in readers]
        step()
        return [*first, *(reader.read(host, EMPTY) for reader in readers)]

    lived = look_twice(recorder, recorder.begin)
    recording = Recording(
        nodename="tree", simulated=False, exporter="test", frames=tuple(recorder.frames()), settings={}
    )
    replay = ReplayHost(recording)
    assert len(recording.frames) == 2
    assert look_twice(replay, replay.advance) == lived


@pytest.mark.parametrize(
    ("name", "names"),
    [
        (
            "hwloc-40intel64-2g2n4c_pcilocality",
            {"eth0": "nic", "eth1": "nic", "eth2": "nic", "eth3": "nic", "ib0": "nic", "qib0": "rdma"},
        )
    ],
)
def test_a_machine_with_infiniband(name: str, names: dict[str, str], foreign_tree: Trees, shared_data: object) -> None:
    devices = DevicesReader().read(foreign_tree(name), EMPTY).value
    assert devices is not None
    assert {device.name: device.device_class for device in devices.devices} == names
