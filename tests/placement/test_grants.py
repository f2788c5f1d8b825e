"""Grants: the kubelet's files and PodResources joined, and which GPU each device id means."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from numa_exporter.formats import idlist, kubelet_state
from numa_exporter.formats.kubelet_state import CpuGrant, CpuManagerState, DeviceCheckpoint
from numa_exporter.formats.pci_address import PciAddress
from numa_exporter.formats.podresources import (
    Allocatable,
    ClaimedDevice,
    ContainerResources,
    MemoryBlock,
    PluginDevices,
    PodResources,
)
from numa_exporter.model.gpus import Gpu, MigInstance
from numa_exporter.model.ids import WorkloadKey
from numa_exporter.model.kubelet import Grant, Kubelet
from numa_exporter.model.names import Names
from numa_exporter.model.placement import Machine
from numa_exporter.model.thresholds import Settings
from numa_exporter.placement.granted_devices import claimed_gpu, granted_gpu
from tests.builders import Parts, cpus, node, placed, sample, topology, two_socket
from tests.kubernetes.machines import Node, answer, container_id, names_of, pod_cgroup, pod_task, uid

H100 = "GPU-9b341c59-f96b-ba85-c137-78c3652fea65"
MIG = "MIG-41b3359c-e721-56e5-8009-12e5797ed514"


def machine(*gpus: Gpu) -> Machine:
    found = placed(sample(two_socket().with_gpus(*gpus) if gpus else two_socket())).machine
    assert found is not None
    return found


ONE = replace(
    two_socket().gpus.gpus[0],
    uuid=H100,
    minor=3,
    mig=(MigInstance(uuid=MIG, gpu_instance_id=7, compute_instance_id=0),),
)


@pytest.mark.parametrize(
    ("text", "resource", "expected"),
    [
        (H100, "nvidia.com/gpu", (H100, None, None)),
        (f"{H100}::3", "nvidia.com/gpu.shared", (H100, None, None)),
        (H100, "acme.example/h100", (H100, None, None)),
        (MIG, "nvidia.com/mig-1g.10gb", (H100, MIG, 7)),
        (f"{MIG}::1", "nvidia.com/mig-1g.10gb", (H100, MIG, 7)),
        (f"MIG-{H100}/7/0", "nvidia.com/mig-1g.10gb", (H100, MIG, 7)),
        (f"MIG-{H100}/9/0", "nvidia.com/mig-1g.10gb", (H100, None, 9)),
        ("nvidia3", "nvidia.com/gpu", (H100, None, None)),
        ("nvidia3/gi7", "nvidia.com/gpu", (H100, MIG, 7)),
        ("nvidia3/vgpu1", "nvidia.com/gpu", (H100, None, None)),
        ("0", "nvidia.com/gpu", (H100, None, None)),
        ("0:1", "nvidia.com/mig-1g.10gb", (H100, None, None)),
        ("0000:30:00.0", "amd.com/gpu", (H100, None, None)),
        ("tegra", "nvidia.com/gpu", (H100, None, None)),
        # An IOMMU group of KubeVirt, a slot of another vendor's plugin: a number that only looks like an ordinal.
        ("0", "nvidia.com/GH100_H100_PCIE", None),
        ("0", "rdma/hca", None),
        ("1", "nvidia.com/gpu", None),
        ("nvidia4", "nvidia.com/gpu", None),
        ("GPU-00000000-0000-0000-0000-000000000000", "nvidia.com/gpu", None),
        ("0000:99:00.0", "intel.com/sriov", None),
    ],
)
def test_device_ids(text: str, resource: str, expected: tuple[str, str | None, int | None] | None) -> None:
    found = granted_gpu(text, resource, machine(ONE))
    assert (found and (found.uuid, found.mig_uuid, found.gpu_instance_id)) == expected


def test_the_only_gpu_is_not_one_of_eight() -> None:
    assert granted_gpu("tegra", "nvidia.com/gpu", machine()) is None


@pytest.mark.parametrize(
    ("driver", "device", "found"),
    [
        ("gpu.nvidia.com", "gpu-3", True),
        ("gpu.nvidia.com", "gpu-3-mig-19-0-1", True),
        ("gpu.nvidia.com", "gpu-3-mig-1g10gb-19-0", True),
        ("gpu.nvidia.com", "gpu-3-mig-1g10gb-me-20-4", True),
        ("gpu.amd.com", "gpu-1-131", True),
        ("gpu.nvidia.com", "gpu-2", False),
        ("gpu.nvidia.com", "gpu-vfio-3", False),
        ("dra.cpu", "cpudev003", False),
        ("gpu.example.com", "gpu-3", False),
    ],
)
def test_devices_of_claims(driver: str, device: str, found: bool) -> None:
    claimed = ClaimedDevice(claim="prod/llm", driver=driver, pool="node-1", device=device)
    granted = claimed_gpu(claimed, machine(replace(ONE, render_minor=131)))
    assert (granted.uuid if granted else None) == (H100 if found else None)


def only(node: Node) -> Grant:
    (grant,) = node.promises().grants
    return grant


def test_checkpoint_and_cpu_state_are_one_grant_by_uid_and_container() -> None:
    grant = only(Node(two_socket()).granting("llm-0", gpus=("GPU-0", "GPU-1"), cpus="0-7", node=0))
    assert grant.key == WorkloadKey(namespace="prod", pod="llm-0", container="vllm")
    assert (grant.pod_uid, grant.cpus) == (uid("llm-0"), cpus("0-7"))
    assert [gpu.uuid for gpu in grant.gpus] == ["GPU-0", "GPU-1"]


def test_without_log_directories_devices_tie_uid_and_names() -> None:
    bare = Node(two_socket(), names=Names()).granting("llm-0", gpus=("GPU-0",))
    assert only(bare).key == WorkloadKey(container="vllm", unit=f"pod/{uid('llm-0')}")
    named = bare.with_kubelet(pods=(answer("other", "GPU-7"), answer("llm-0", "GPU-0")))
    assert {grant.pod_uid: grant.key.pod for grant in named.promises().grants} == {uid("llm-0"): "llm-0", None: "other"}


def test_without_devices_exclusive_cpus_tie_them() -> None:
    bare = (
        Node(two_socket(), names=Names()).granting("web-0", cpus="0-3").with_kubelet(pods=(answer("web-0", cpu="0-3"),))
    )
    assert only(bare).key.pod == "web-0"


def test_podresources_alone_is_enough() -> None:
    node = Node(two_socket(), names=Names()).with_kubelet(
        cpu=None, devices=None, pods=(answer("llm-0", "GPU-0", cpu="0-3"),)
    )
    grant = only(node)
    assert (grant.key.pod, grant.pod_uid, grant.cpus) == ("llm-0", None, cpus("0-3"))


def test_the_shared_pool_is_nobodys_own() -> None:
    """kubernetes#100211: kubelets before 1.22 list it for containers without exclusive CPUs."""
    node = Node(two_socket()).granting("llm-0", gpus=("GPU-0",), cpus="0-3")
    node = node.with_kubelet(pods=(answer("web-0", "GPU-1", cpu="4-31"), answer("llm-0", "GPU-0", cpu="0-3")))
    assert {grant.key.pod: grant.cpus for grant in node.promises().grants} == {"llm-0": cpus("0-3"), "web-0": cpus("")}


def test_claims_come_from_podresources_only() -> None:
    parts = two_socket()
    parts = parts.with_gpus(*(replace(gpu, minor=gpu.index) for gpu in parts.gpus.gpus))
    claimed = ClaimedDevice(claim="prod/llm", driver="gpu.nvidia.com", pool="n", device="gpu-5")
    lost = replace(claimed, device="gpu-42")
    other = replace(claimed, driver="dra.net", device="eth1")
    pod = PodResources(
        namespace="prod",
        name="llm-0",
        containers=(ContainerResources(name="vllm", claimed=(claimed, lost, other)),),
    )
    grant = only(Node(parts, names=names_of("llm-0")).with_kubelet(pods=(pod,)))
    assert [gpu.uuid for gpu in grant.gpus] == ["GPU-5"]
    assert grant.unknown_devices == ("gpu.nvidia.com/gpu-42",), "what cannot be attributed is said"
    assert grant.pod_uid == uid("llm-0")


def test_ids_of_gpu_resources_that_name_no_gpu_are_said() -> None:
    assert only(Node(two_socket()).granting("llm-0", gpus=("GPU-elsewhere",))).unknown_devices == ("GPU-elsewhere",)


def test_a_whole_pods_cpus_belong_to_none_of_its_containers() -> None:
    pod = replace(
        answer("llm-0", "GPU-0", cpu="0-3"), cpus=cpus("0-7"), memory=(MemoryBlock(memory_type="memory", size_bytes=1),)
    )
    made = Node(two_socket(), names=names_of("llm-0")).with_kubelet(cpu=None, pods=(pod,)).promises().grants
    assert {grant.container: grant.cpus for grant in made} == {"vllm": cpus("0-3"), None: cpus("0-7")}


def test_the_oldest_schema_knows_container_ids() -> None:
    state = CpuManagerState(
        policy="static",
        shared_cpus=cpus("8-63"),
        grants=(CpuGrant(pod_uid=None, container=None, container_id=container_id("llm-0"), cpus=cpus("0-7")),),
    )
    host = Node(two_socket(), names=names_of("llm-0")).with_kubelet(cpu=state, devices=None)
    assert only(host).key.pod == "llm-0"
    placement = placed(host.sample(pod_task(1, "llm-0", gpus="GPU-0")))
    assert placement.workloads[0].grant == only(host)


def test_a_pod_that_ended_holds_nothing_though_a_checkpoint_keeps_it() -> None:
    host = Node(two_socket()).granting("ended", gpus=("GPU-0",)).granting("alive", gpus=("GPU-1",))
    host = host.with_kubelet(
        living=frozenset({uid("alive")}), pods=(answer("ended", "GPU-0"), answer("alive", "GPU-1"))
    )
    promised = host.promises()
    assert [grant.key.pod for grant in promised.grants] == ["alive"]
    assert (promised.granted["GPU-0"], promised.granted["GPU-1"]) == (False, True)


def test_a_pod_is_not_taken_for_the_one_whose_devices_it_got() -> None:
    host = Node(two_socket(), names=Names()).granting("alive", gpus=("GPU-0",)).granting("ended", gpus=("GPU-0",))
    host = host.with_kubelet(living=frozenset({uid("alive")}), pods=(answer("alive", "GPU-0"),))
    grant = only(host)
    assert (grant.key.pod, grant.pod_uid) == ("alive", uid("alive"))


def test_where_nobody_told_who_holds_what_no_gpu_is_free() -> None:
    everything = Allocatable(devices=(PluginDevices(resource="nvidia.com/gpu", ids=("GPU-0",)),))
    promised = Node(two_socket()).with_kubelet(allocatable=everything, pods=None, devices=None).promises()
    assert (promised.granted, promised.usable, promised.stranded) == ({}, {}, {})


def test_the_workload_has_its_grant() -> None:
    host = Node(two_socket()).granting("llm-0", gpus=("GPU-0",), cpus="0-7")
    placement = placed(host.sample(pod_task(1, "llm-0", gpus="GPU-0"), cgroups=[pod_cgroup("llm-0", "0-7")]))
    (workload,) = placement.workloads
    assert workload.grant is not None
    assert workload.grant.cpus == cpus("0-7")


def test_excluded_workloads_count_and_are_not_shown() -> None:
    host = Node(two_socket()).granting("llm-0", gpus=("GPU-0",))
    promised = host.promises(settings=Settings(excluded_workloads=("prod/.*",)))
    assert (promised.grants, promised.granted["GPU-0"]) == ((), True)


def test_an_agent_that_writes_cpusets_is_known_by_its_pod() -> None:
    assert Node(two_socket(), names=names_of("koordlet-x7k2p")).promises().cpuset_agent == "koordlet-x7k2p"
    assert Node(two_socket()).with_kubelet(pods=(answer("nri-resource-policy-balloons-abcde"),)).promises().cpuset_agent
    gone = Node(two_socket(), names=names_of("koordlet-x7k2p")).with_kubelet(living=frozenset({uid("llm-0")}))
    assert gone.promises().cpuset_agent is None


def test_state_files_beat_the_configuration() -> None:
    policies = Node(two_socket(), policy="none", memory="Static", topology="restricted").promises().policies
    assert (policies.cpu_manager, policies.memory_manager, policies.topology_manager, policies.topology_scope) == (
        "none",
        "static",
        "restricted",
        "container",
    )


CASES = ("node2-case1-2gpu-0cpu", "node2-case2-1gpu-3cpu-node0", "node2-case6-cpu-split-over-nodes")


@pytest.mark.parametrize("case", CASES)
def test_real_kubelets(shared_data: Path, case: str) -> None:
    folder = shared_data / "kubelet" / case
    expected = json.loads((folder / "expect.json").read_text())
    checkpoint = folder / "device-plugins/kubelet_internal_checkpoint"
    kubelet = Kubelet(
        cpu=kubelet_state.parse_cpu_manager((folder / "cpu_manager_state").read_bytes(), "state"),
        devices=kubelet_state.parse_devices(checkpoint.read_bytes(), "checkpoint"),
    )
    promised = placed(sample(_parts(expected["machine"]), kubelet=kubelet)).promises
    assert promised is not None
    assert {grant.pod_uid for grant in promised.grants} == set(expected["pods"])
    for grant in promised.grants:
        pod = expected["pods"][grant.pod_uid]
        assert idlist.render(grant.cpus) == (pod["cpus"] or "")
        nodes = {expected["machine"]["gpus"][gpu.uuid] for gpu in grant.gpus}
        assert sorted(nodes) == pod["gpu_nodes"]
    held = {gpu.uuid for grant in promised.grants for gpu in grant.gpus}
    assert promised.granted == {uuid: uuid in held for uuid in expected["machine"]["gpus"]}


def _parts(described: Mapping[str, object]) -> Parts:
    nodes = (
        node(0, str(described["node0"]), {0: 10, 1: 21}),
        node(1, str(described["node1"]), {0: 21, 1: 10}),
    )
    parts = two_socket()
    uuids: Mapping[str, int] = described["gpus"]  # type: ignore[assignment]
    gpus = []
    for number, (uuid, numa_node) in enumerate(uuids.items()):
        card = parts.gpus.gpus[number]
        assert card.function is not None
        address = PciAddress(domain=0, bus=number, device=0, function=0)
        function = replace(card.function, numa_node=numa_node, address=address)
        gpus.append(replace(card, uuid=uuid, function=function))
    return replace(parts, topology=topology(*nodes, packages={0: 0, 1: 1})).with_gpus(*gpus)


def test_unknown_files_of_a_kubelet_are_unknown_promises() -> None:
    promised = Node(two_socket()).with_kubelet(cpu=None, memory=None, devices=None, config=None).promises()
    assert (promised.granted, promised.usable, promised.stranded, promised.shared_cpus) == ({}, {}, {}, None)
    assert promised.policies.cpu_manager is None
    empty = Node(two_socket()).with_kubelet(devices=DeviceCheckpoint(grants=(), registered={})).promises()
    assert empty.usable == {}
