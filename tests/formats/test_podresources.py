"""PodResources answers: what is left out is zero or unknown, and which of the two."""

import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from numa_exporter.formats import podresources
from numa_exporter.formats import podresources_pb2 as pb
from numa_exporter.formats.parse_error import ParseError
from numa_exporter.formats.podresources import ClaimedDevice, MemoryBlock, PluginDevices, PodResources
from tests.conftest import REPOSITORY
from tests.kubernetes.podresources_server import allocatable, pods


def parse(*described: dict[str, object]) -> tuple[PodResources, ...]:
    return podresources.parse_list(pods(*described).SerializeToString(), "kubelet:List")


def devices(**fields: object) -> PluginDevices:
    described = {"resource_name": "nvidia.com/gpu", "device_ids": ["GPU-0"], **fields}
    (pod,) = parse({"name": "p", "namespace": "n", "containers": [{"name": "c", "devices": [described]}]})
    return pod.containers[0].devices[0]


def test_node_0_arrives_as_an_empty_message_and_is_node_0() -> None:
    message = pb.TopologyInfo(nodes=[pb.NUMANode(ID=0)])
    assert message.SerializeToString() == b"\x0a\x00", "nothing in it"
    assert devices(topology={"nodes": [{}]}).nodes == {0}
    assert devices(topology={"nodes": [{}, {"ID": 1}]}).nodes == {0, 1}


def test_no_topology_is_unknown() -> None:
    assert devices().nodes is None
    assert devices(topology={}).nodes is None


def test_node_minus_1_is_no_node() -> None:
    assert devices(topology={"nodes": [{"ID": -1}]}).nodes is None
    assert devices(topology={"nodes": [{"ID": -1}, {"ID": 1}]}).nodes == {1}


def test_a_container_without_cpu_ids_shares_the_pool() -> None:
    (pod,) = parse({"name": "p", "namespace": "n", "containers": [{"name": "c"}, {"name": "d", "cpu_ids": [0, 3]}]})
    assert [container.cpus for container in pod.containers] == [frozenset(), {0, 3}]


def test_memory_claims_and_what_belongs_to_the_pod() -> None:
    claim = {
        "claim_name": "llm-gpu",
        "claim_namespace": "n",
        "claim_resources": [
            {"driver_name": "gpu.nvidia.com", "pool_name": "node-1", "device_name": "gpu-0", "share_id": "x"}
        ],
    }
    block = {"memory_type": "memory", "size": 1 << 30, "topology": {"nodes": [{"ID": 1}]}}
    (pod,) = parse(
        {
            "name": "p",
            "namespace": "n",
            "cpu_ids": [1, 2],
            "memory": [block],
            "containers": [{"name": "c", "memory": [block], "dynamic_resources": [claim]}],
        }
    )
    promised = MemoryBlock(memory_type="memory", size_bytes=1 << 30, nodes=frozenset({1}))
    assert (pod.cpus, pod.memory) == ({1, 2}, (promised,))
    assert pod.containers[0].memory == (promised,)
    assert pod.containers[0].claimed == (
        ClaimedDevice(claim="n/llm-gpu", driver="gpu.nvidia.com", pool="node-1", device="gpu-0"),
    )


def test_fields_of_a_newer_kubelet_are_passed_over() -> None:
    data = pods({"name": "p", "namespace": "n"}).SerializeToString()
    newer = data + b"\xfa\x07\x03abc"  # field 127 of the response, length-delimited
    assert podresources.parse_list(newer, "kubelet:List") == parse({"name": "p", "namespace": "n"})


def test_allocatable() -> None:
    described = {
        "devices": [{"resource_name": "nvidia.com/gpu", "device_ids": ["GPU-0"], "topology": {"nodes": [{}]}}],
        "cpu_ids": [2, 3],
        "memory": [{"memory_type": "hugepages-2Mi", "size": 4096}],
    }
    found = podresources.parse_allocatable(allocatable(described).SerializeToString(), "kubelet:?")
    assert found.devices[0].nodes == {0}
    assert found.cpus == {2, 3}
    assert found.memory[0].nodes is None


@pytest.mark.parametrize("data", [b"\x0a", b"\x0a\xff", b"not protobuf at all"])
def test_a_broken_answer_is_a_parse_error(data: bytes) -> None:
    with pytest.raises(ParseError) as caught:
        podresources.parse_list(data, "kubelet:List")
    assert caught.value.path == "kubelet:List"


def collected(folder: Path) -> Iterator[tuple[str, tuple[PodResources, ...]]]:
    for file in sorted(folder.glob("*.json")):
        rows = json.loads(file.read_text())
        described = rows.get("pod_resources") or rows["podResources"]
        yield file.name, parse(*described)


def test_every_collected_answer(shared_data: Path) -> None:
    found = dict(collected(shared_data / "kubelet/podresources"))
    whole, split, *shared = found["ceems-nvidia.json"]
    assert [len(devices.ids) for one in whole.containers for devices in one.devices] == [2, 1]
    assert split.containers[0].devices[0].ids[3].endswith("::3")
    assert shared
    (one,) = found["nvsentinel-one-gpu.json"]
    assert one.containers[0].devices[0].nodes == {1}
    (bare,) = found["cpu-mem-no-topology.json"]
    assert bare.containers[0].devices[0].nodes is None
    assert bare.containers[0].cpus == {0, 1, 2, 3}
    assert bare.containers[0].memory[0].nodes == {0}


@pytest.mark.parametrize("name", ["podresources", "cri"])
def test_the_stubs_are_printed_from_the_proto(name: str, tmp_path: Path) -> None:
    if importlib.util.find_spec("grpc_tools") is None:
        pytest.skip("needs grpcio-tools (PyPI): make proto")
    proto = f"numa_exporter/formats/{name}.proto"
    command = [
        sys.executable,
        "-m",
        "grpc_tools.protoc",
        "-I.",
        f"--python_out={tmp_path}",
        f"--pyi_out={tmp_path}",
        proto,
    ]
    subprocess.run(command, cwd=REPOSITORY, check=True, timeout=60)
    for suffix in ("py", "pyi"):
        stub = f"numa_exporter/formats/{name}_pb2.{suffix}"
        assert (tmp_path / stub).read_text() == (REPOSITORY / stub).read_text()
