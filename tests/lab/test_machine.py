"""The guest's kernel says about the machine what the topology asked for."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from tests.lab.runner import Lab
from tests.lab.topology import TOPOLOGIES, Topology, ids

pytestmark = pytest.mark.lab
Machine = Callable[..., Lab]
NVIDIA, NVME, NET, DRM = "0x10de", "0x010802", "0x020000", "0x038000"
DEVICES = {NVIDIA: "nvidia", NVME: "nvme", NET: "net", DRM: "gpu"}


def list_text(numbers: list[int]) -> str:
    """Numbers as the kernel writes them, for sets without gaps."""
    if not numbers:
        return ""
    return str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]}-{numbers[-1]}"


def check_nodes(topology: Topology, facts: dict[str, Any]) -> None:
    numbers = range(len(topology.nodes))
    assert sorted(facts["nodes"]) == [str(number) for number in numbers]
    assert facts["masks"]["online"] == list_text(list(numbers))
    assert facts["masks"]["has_cpu"] == list_text([n for n in numbers if topology.nodes[n].cpus])
    assert facts["masks"]["has_memory"] == list_text([n for n in numbers if topology.nodes[n].memory_mib])
    for number, node in enumerate(topology.nodes):
        said = facts["nodes"][str(number)]
        assert said["cpus"] == node.cpus
        assert said["distances"] == [topology.distance(number, other) for other in numbers]
        # the kernel keeps some for itself
        assert 0.85 * node.memory_mib <= said["memory_kib"] / 1024 <= node.memory_mib
        if node.nearest is not None:
            assert said["initiators"] == [f"node{node.nearest}"]


def check_sockets(topology: Topology, facts: dict[str, Any]) -> None:
    each = topology.cpus // topology.sockets
    sockets = {str(n): list(range(n * each, (n + 1) * each)) for n in range(topology.sockets)}
    assert facts["packages"] == sockets


def check_devices(topology: Topology, facts: dict[str, Any], kinds: Iterable[str]) -> None:
    """One of each kind on each node with CPUs, in the nodes' order, and nothing knows a node without an SRAT."""
    wanted = [n if topology.srat else -1 for n, node in enumerate(topology.nodes) if node.cpus]
    for kind in kinds:
        found = [facts["pci"][bus] for bus in sorted(facts["pci"]) if kind in facts["pci"][bus].values()]
        assert [device["numa_node"] for device in found] == wanted, kind
        for device in found:
            cpus = topology.nodes[device["numa_node"]].cpus if topology.srat else f"0-{topology.cpus - 1}"
            assert device["local_cpulist"] == cpus


@pytest.mark.parametrize("name", sorted(set(TOPOLOGIES) - {"2s2n-lean"}))  # which is 2s2n with less memory
def test_the_machine_is_the_one_asked_for(lab: Machine, name: str) -> None:
    topology = TOPOLOGIES[name]
    kinds = [kind for kind in DEVICES if kind != DRM or name == "2s2n"]  # DRM takes long to start
    facts = lab(name, devices=tuple(DEVICES[kind] for kind in kinds)).ask("-m", "tests.lab.facts")
    assert facts["kernel"].startswith("6.1.")
    check_nodes(topology, facts)
    check_sockets(topology, facts)
    check_devices(topology, facts, kinds)
    count = sum(1 for node in topology.nodes if node.cpus)
    gpus = [f"nvidia{number}" for number in range(count)]
    displays = ["card0", "renderD128"] if DRM in kinds else []
    assert {*gpus, *displays, "nvidiactl", "nvidia-uvm"} <= set(facts["devices"])
    numbers = " ".join(str(cpu) for cpu in ids(topology.nodes[0].cpus))
    assert f"node 0 cpus: {numbers}\n" in facts["numactl"]


@pytest.mark.parametrize(
    ("kernel", "cgroup", "present", "absent"),
    [
        ("6.1", "hybrid", {"cpuset": "cgroup", "memory": "cgroup", "unified": "cgroup2"}, {""}),
        # Debian built 6.12 without cpuset and memory of v1
        ("6.12", "hybrid", {"pids": "cgroup", "unified": "cgroup2"}, {"", "cpuset", "memory"}),
    ],
)
def test_hybrid_cgroups(lab: Machine, kernel: str, cgroup: str, present: dict[str, str], absent: set[str]) -> None:
    """v1 and v2 alone are test_truth's."""
    machine = lab("2s2n", kernel=kernel, cgroup=cgroup, devices=("nvidia",))
    facts = machine.ask("-m", "tests.lab.facts")
    assert facts["kernel"].startswith(f"{kernel}.")
    check_nodes(machine.topology, facts)
    mounts = {path.removeprefix("/sys/fs/cgroup").strip("/"): kind for path, kind in facts["cgroup"].items()}
    assert mounts | present == mounts
    assert not absent & set(mounts)
    assert {"nvidia0", "nvidia1"} <= set(facts["devices"])


def test_one_switch(lab: Machine) -> None:
    """The GPU and the NIC share a switch, the NVMe has a root port of its own."""
    facts = lab("2s2n-small", devices=("nvidia/net", "nvme")).ask("-m", "tests.lab.facts")
    paths = {device["class"]: device["path"].split("/") for device in facts["pci"].values() if device["numa_node"] == 0}
    gpu, nic, nvme = paths["0x030200"], paths[NET], paths[NVME]
    assert len(gpu) == len(nic) == 5  # host bridge, root port, upstream port, downstream port, function
    assert gpu[:3] == nic[:3] and gpu[3] != nic[3]
    assert nvme[0] == gpu[0] and nvme[1] != gpu[1]


def test_identity_without_a_compiler(lab: Machine) -> None:
    facts = lab("2s2n-small", devices=("nvidia",), gpu_module=False).ask("-m", "tests.lab.facts")
    gpus = {bus: device for bus, device in facts["pci"].items() if device["vendor"] == NVIDIA}
    assert sorted(device["numa_node"] for device in gpus.values()) == [0, 1]
    assert {(device["device"], device["class"]) for device in gpus.values()} == {("0x2330", "0x030200")}
    assert set(facts["nvidia"]) == set(gpus)


def test_a_gpus_memory_as_a_node(lab: Machine) -> None:
    machine = lab("2s4n-memonly", devices=("nvidia",), memory_nodes=(2, 3))
    code = "import json; from tests.lab.gpus import gpu_records; print(json.dumps(gpu_records()))"
    _, *gpus = machine.ask("-c", code)
    fields = [dict(field.split("=") for field in gpu.split(";")[1:]) for gpu in gpus]
    assert [(gpu["nodes"], gpu["numa"]) for gpu in fields] == [("0", "2"), ("1", "3")]
