"""A kubelet's PodResources socket that says what a test wants.

    with serving(path, List=pods(gpu_pod("GPU-0")), GetAllocatableResources=HANG) as server: ...

A method that is not named is UNIMPLEMENTED, as with an old kubelet. Messages are those of podresources.proto.
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from google.protobuf.json_format import ParseDict
from grpclib.const import Status
from grpclib.exceptions import GRPCError

from numa_exporter.formats import podresources_pb2 as pb
from numa_exporter.sources.grpc_socket import POD_RESOURCES
from tests.kubernetes import grpc_server
from tests.kubernetes.grpc_server import HANG, Methods, Script, ScriptedServer

__all__ = ("DISABLED", "HANG", "allocatable", "gpu_pod", "pods", "serving")

METHODS: Methods = {
    "List": (pb.ListPodResourcesRequest, pb.ListPodResourcesResponse),
    "GetAllocatableResources": (pb.AllocatableResourcesRequest, pb.AllocatableResourcesResponse),
    "Get": (pb.GetPodResourcesRequest, pb.GetPodResourcesResponse),
}
DISABLED = GRPCError(Status.UNKNOWN, "PodResources API GetAllocatableResources disabled")


def serving(path: Path, **script: Script) -> AbstractContextManager[ScriptedServer]:
    return grpc_server.serving(path, POD_RESOURCES, METHODS, script)


def pods(*described: Mapping[str, object]) -> pb.ListPodResourcesResponse:
    """The answer to List from protobuf's JSON, in either spelling of its field names."""
    return ParseDict({"pod_resources": list(described)}, pb.ListPodResourcesResponse())


def allocatable(described: Mapping[str, object]) -> pb.AllocatableResourcesResponse:
    return ParseDict(described, pb.AllocatableResourcesResponse())


def gpu_pod(*ids: str, name: str = "llm-0", numa_node: int | None = 0, cpus: tuple[int, ...] = ()) -> dict[str, object]:
    """A pod whose only container holds these devices."""
    topology = {} if numa_node is None else {"topology": {"nodes": [{"ID": numa_node}]}}
    devices = [{"resource_name": "nvidia.com/gpu", "device_ids": list(ids), **topology}] if ids else []
    return {
        "name": name,
        "namespace": "prod",
        "containers": [{"name": "vllm", "devices": devices, "cpu_ids": list(cpus)}],
    }
