import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numa_exporter.formats import device_id, idlist, kubelet_state
from numa_exporter.formats.kubelet_state import CpuGrant, MemoryGrant
from numa_exporter.formats.parse_error import ParseError

CPUS = st.frozensets(st.integers(0, 255), min_size=1)
NAMES = st.text(st.characters(codec="ascii", categories=("Ll", "Nd")), min_size=1)


def dump(document: object) -> bytes:
    return json.dumps(document).encode()


def cpu_grant(pod: str | None, container: str | None, cpus: set[int], container_id: str | None = None) -> CpuGrant:
    return CpuGrant(pod_uid=pod, container=container, container_id=container_id, cpus=frozenset(cpus))


@given(st.dictionaries(NAMES, st.dictionaries(NAMES, CPUS, min_size=1)))
def test_cpu_entries_come_back(entries: dict[str, dict[str, frozenset[int]]]) -> None:
    written = {uid: {name: idlist.render(cpus) for name, cpus in pod.items()} for uid, pod in entries.items()}
    state = kubelet_state.parse_cpu_manager(
        dump({"policyName": "static", "defaultCpuSet": "0", "entries": written, "checksum": 1}), "cpu_manager_state"
    )
    read: dict[str, dict[str, frozenset[int]]] = {}
    for grant in state.grants:
        assert grant.pod_uid is not None and grant.container is not None
        read.setdefault(grant.pod_uid, {})[grant.container] = grant.cpus
    assert read == entries


def test_cpu_manager_policy_none() -> None:
    state = kubelet_state.parse_cpu_manager(
        b'{"policyName":"none","defaultCpuSet":"","checksum":1353318690}', "cpu_manager_state"
    )
    assert (state.policy, state.shared_cpus, state.grants) == ("none", frozenset(), ())


def test_cpu_entries_by_container_id_before_1_14() -> None:
    state = kubelet_state.parse_cpu_manager(
        dump({"policyName": "static", "defaultCpuSet": "0", "entries": {"7d3f": "1-2"}}), "cpu_manager_state"
    )
    assert state.grants == (cpu_grant(None, None, {1, 2}, container_id="7d3f"),)


def test_cpus_of_a_whole_pod() -> None:
    document = {
        "policyName": "static",
        "defaultCpuSet": "0",
        "entries": {"uid": {"app": "1"}},
        "podEntries": {"uid": {"cpuSet": "1-3", "hint": {}}},
    }
    state = kubelet_state.parse_cpu_manager(dump(document), "cpu_manager_state")
    assert state.grants == (cpu_grant("uid", "app", {1}), cpu_grant("uid", None, {1, 2, 3}))


def test_the_embedded_data_is_the_authority() -> None:
    data = json.dumps({"policyName": "static", "defaultCpuSet": "0", "entries": {"uid": {"app": "1-4"}}})
    document = {"policyName": "static", "defaultCpuSet": "0-4", "data": data, "dataChecksum": 5, "checksum": 6}
    state = kubelet_state.parse_cpu_manager(dump(document), "cpu_manager_state")
    assert (state.shared_cpus, state.grants) == (frozenset({0}), (cpu_grant("uid", "app", {1, 2, 3, 4}),))


def test_memory_of_containers_and_pods() -> None:
    document = {
        "policyName": "Static",
        "machineState": {},
        "entries": {"uid": {"app": [{"numaAffinity": [0, 1], "type": "hugepages-2Mi", "size": 4096}]}},
        "podEntries": {"uid": {"memoryBlocks": [{"numaAffinity": [1], "type": "memory", "size": 8192}]}},
    }
    state = kubelet_state.parse_memory_manager(dump(document), "memory_manager_state")
    assert state.grants == (
        MemoryGrant(
            pod_uid="uid", container="app", memory_type="hugepages-2Mi", nodes=frozenset({0, 1}), size_bytes=4096
        ),
        MemoryGrant(pod_uid="uid", container=None, memory_type="memory", nodes=frozenset({1}), size_bytes=8192),
    )


def test_a_device_on_two_nodes_and_one_without_topology() -> None:
    ids = {"0": ["a", "b"], "1": ["a"], "-1": ["c"]}
    entry = {"PodUID": "uid", "ContainerName": "app", "ResourceName": "x/y", "DeviceIDs": ids}
    document = {"Data": {"PodDeviceEntries": [entry], "RegisteredDevices": None}, "Checksum": 0, "BootID": "b"}
    checkpoint = kubelet_state.parse_devices(dump(document), "kubelet_internal_checkpoint")
    assert checkpoint.grants[0].devices == {"a": {0, 1}, "b": {0}, "c": set()}
    assert checkpoint.registered == {}


def test_a_kubelet_that_granted_nothing() -> None:
    document = {"Data": {"PodDeviceEntries": None, "RegisteredDevices": {}}, "Checksum": 0}
    assert kubelet_state.parse_devices(dump(document), "kubelet_internal_checkpoint").grants == ()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b'{"policyName":"static"',
        b'{"policyName":"\xff"}',
        b"{}",
        b'{"policyName":1}',
        b'{"policyName":"static","defaultCpuSet":"0-"}',
        b'{"policyName":"static","defaultCpuSet":"0","entries":{"uid":{"app":3}}}',
        b'{"policyName":"static","defaultCpuSet":"0","data":"{"}',
    ],
)
def test_broken_cpu_states_are_refused(data: bytes) -> None:
    with pytest.raises(ParseError):
        kubelet_state.parse_cpu_manager(data, "cpu_manager_state")


@pytest.mark.parametrize("ids", [{"x": ["a"]}, {"0": "a"}, "a"])
def test_broken_device_ids_are_refused(ids: object) -> None:
    entry = {"PodUID": "uid", "ContainerName": "app", "ResourceName": "x/y", "DeviceIDs": ids}
    with pytest.raises(ParseError):
        kubelet_state.parse_devices(dump({"Data": {"PodDeviceEntries": [entry]}}), "kubelet_internal_checkpoint")


def test_a_broken_line_is_named() -> None:
    with pytest.raises(ParseError) as caught:
        kubelet_state.parse_cpu_manager(b'{"policyName": "static",\n"entries": }', "cpu_manager_state")
    assert caught.value.line_number == 2


@pytest.mark.parametrize(
    "case", ["node2-case1-2gpu-0cpu", "node2-case2-1gpu-3cpu-node0", "node2-case6-cpu-split-over-nodes"]
)
def test_real_states_against_what_was_seen(shared_data: Path, case: str) -> None:
    folder = shared_data / "kubelet" / case
    expect = json.loads((folder / "expect.json").read_bytes())
    checkpoint_file = folder / "device-plugins/kubelet_internal_checkpoint"
    cpus = kubelet_state.parse_cpu_manager((folder / "cpu_manager_state").read_bytes(), "cpu_manager_state")
    devices = kubelet_state.parse_devices(checkpoint_file.read_bytes(), "kubelet_internal_checkpoint")
    assert set(devices.registered["nvidia.com/gpu"]) == expect["machine"]["gpus"].keys()
    assert {grant.pod_uid for grant in devices.grants} == expect["pods"].keys()
    for grant in devices.grants:
        pod = expect["pods"][grant.pod_uid]
        assert sorted({node for nodes in grant.devices.values() for node in nodes}) == pod["gpu_nodes"]
        assert all(parsed is not None and parsed.uuid for parsed in map(device_id.parse, grant.devices))
        exclusive = [idlist.render(other.cpus) for other in cpus.grants if other.pod_uid == grant.pod_uid]
        assert exclusive == ([pod["cpus"]] if pod["cpus"] else [])


def test_real_cpu_states(shared_data: Path) -> None:
    folder = shared_data / "kubelet"
    kubelet_1_34 = kubelet_state.parse_cpu_manager(
        (folder / "cpu_manager_state/kubelet-1.34.json").read_bytes(), "1.34"
    )
    assert kubelet_1_34.grants == (
        cpu_grant("4aec46af-22b7-4e26-babb-d15383ac9151", "mysqld", {2, 3}),
        cpu_grant("60008d73-6f6f-4467-96c5-cd0a1eeadf23", "mysqld2", {4, 5}),
    )
    files = [*(folder / "cpu_manager_state").iterdir(), *folder.glob("cpu_manager_state_*")]
    states = {file.name: kubelet_state.parse_cpu_manager(file.read_bytes(), file.name) for file in files}
    assert len(states) == 5
    assert states["cpu_manager_state_none-kubevirt"].policy == "none"
    assert idlist.render(states["strict-reservation.json"].shared_cpus) == "2-15,17-31,34-47,49-63"


def test_real_memory_and_device_states(shared_data: Path) -> None:
    folder = shared_data / "kubelet"
    memory = kubelet_state.parse_memory_manager((folder / "memory_manager_state/two-nodes.json").read_bytes(), "memory")
    assert (memory.policy, [grant.size_bytes for grant in memory.grants]) == ("Static", [536870912])
    mixed = kubelet_state.parse_devices((folder / "checkpoint/mixed-formats.json").read_bytes(), "mixed")
    assert [dict(grant.devices) for grant in mixed.grants] == [
        {"GPU-aaa": {1}, "GPU-bbb": {1}},
        {"GPU-ccc": set()},
        {"OTHER-1": {0}},
    ]
    tegra = kubelet_state.parse_devices((folder / "checkpoint/tegra-minus1.json").read_bytes(), "tegra")
    assert tegra.grants[0].devices == {"tegra": set()}
