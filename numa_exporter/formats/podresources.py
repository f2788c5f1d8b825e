"""What the kubelet says of its pods over its PodResources socket: devices, exclusive CPUs, memory blocks, claims.

kubernetes kubelet/pkg/apis/podresources/v1; the messages are in podresources.proto. There is no pod UID and no
container id in it. Sizes are bytes. CPU ids are exclusive CPUs only: none means the shared pool.

proto3 leaves out what is zero: NUMA node 0 is an empty message and is node 0; topology is unknown only where there
is none at all, or one without a node, or one with node -1, as sysfs says of a device that it does not place.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from numa_exporter.formats.parse_error import ParseError

if TYPE_CHECKING:
    from numa_exporter.formats import podresources_pb2 as pb

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginDevices:
    """Devices of one resource that share a topology. ``nodes`` is None where the plugin reported none."""

    resource: str
    ids: tuple[str, ...]
    nodes: frozenset[int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryBlock:
    """Memory promised by the memory manager; ``memory_type`` is ``memory`` or ``hugepages-2Mi`` and the like."""

    memory_type: str
    size_bytes: int
    nodes: frozenset[int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedDevice:
    """A device that a DRA driver prepared for a claim of the container."""

    claim: str
    driver: str
    pool: str
    device: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerResources:
    """One container of a pod; ``cpus`` are its exclusive ones."""

    name: str
    devices: tuple[PluginDevices, ...] = ()
    cpus: frozenset[int] = frozenset()
    memory: tuple[MemoryBlock, ...] = ()
    claimed: tuple[ClaimedDevice, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PodResources:
    """One pod. ``cpus`` and ``memory`` are those of the pod as a whole (newer kubelets, KEP-5526)."""

    namespace: str
    name: str
    containers: tuple[ContainerResources, ...] = ()
    cpus: frozenset[int] = frozenset()
    memory: tuple[MemoryBlock, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Allocatable:
    """What the kubelet can give away: healthy devices, CPUs that are not reserved, memory."""

    devices: tuple[PluginDevices, ...] = ()
    cpus: frozenset[int] = frozenset()
    memory: tuple[MemoryBlock, ...] = ()


def split_list(data: bytes, path: str) -> Sequence[bytes]:
    """The answer to List, one message a pod, for parse_pod. A kubelet keeps its pods in a Go map: each time they come
    in another order."""
    from numa_exporter.formats import podresources_pb2 as pb

    return _decoded(pb.ListedPods.FromString, data, path).pod_resources


def parse_pod(data: bytes, path: str) -> PodResources:
    """One pod of List."""
    from numa_exporter.formats import podresources_pb2 as pb

    return _pod(_decoded(pb.PodResources.FromString, data, path))


def parse_list(data: bytes, path: str) -> tuple[PodResources, ...]:
    """The answer to List."""
    return tuple(parse_pod(pod, path) for pod in split_list(data, path))


def get_request(namespace: str, pod: str) -> bytes:
    """The question of Get."""
    from numa_exporter.formats import podresources_pb2 as pb

    return pb.GetPodResourcesRequest(pod_namespace=namespace, pod_name=pod).SerializeToString()


def parse_get(data: bytes, path: str) -> PodResources:
    """The answer to Get."""
    from numa_exporter.formats import podresources_pb2 as pb

    return _pod(_decoded(pb.GetPodResourcesResponse.FromString, data, path).pod_resources)


def parse_allocatable(data: bytes, path: str) -> Allocatable:
    """The answer to GetAllocatableResources."""
    from numa_exporter.formats import podresources_pb2 as pb

    message = _decoded(pb.AllocatableResourcesResponse.FromString, data, path)
    return Allocatable(
        devices=tuple(map(_devices, message.devices)),
        cpus=frozenset(message.cpu_ids),
        memory=tuple(map(_memory, message.memory)),
    )


def _decoded(decode: Callable[[bytes], T], data: bytes, path: str) -> T:
    from google.protobuf.message import DecodeError  # here, because only hosts with a kubelet need protobuf

    try:
        return decode(data)
    except DecodeError as error:
        raise ParseError(path, 1, data[:64], f"a protobuf message ({error})") from error


def _pod(message: "pb.PodResources") -> PodResources:
    return PodResources(
        namespace=message.namespace,
        name=message.name,
        containers=tuple(map(_container, message.containers)),
        cpus=frozenset(message.cpu_ids),
        memory=tuple(map(_memory, message.memory)),
    )


def _container(message: "pb.ContainerResources") -> ContainerResources:
    return ContainerResources(
        name=message.name,
        devices=tuple(map(_devices, message.devices)),
        cpus=frozenset(message.cpu_ids),
        memory=tuple(map(_memory, message.memory)),
        claimed=tuple(_claimed(message.dynamic_resources)),
    )


def _devices(message: "pb.ContainerDevices") -> PluginDevices:
    return PluginDevices(
        resource=message.resource_name,
        ids=tuple(message.device_ids),
        nodes=_nodes(message.topology),
    )


def _memory(message: "pb.ContainerMemory") -> MemoryBlock:
    return MemoryBlock(memory_type=message.memory_type, size_bytes=message.size, nodes=_nodes(message.topology))


def _claimed(messages: "Iterable[pb.DynamicResource]") -> Iterable[ClaimedDevice]:
    for message in messages:
        for device in message.claim_resources:
            yield ClaimedDevice(
                claim=f"{message.claim_namespace}/{message.claim_name}",
                driver=device.driver_name,
                pool=device.pool_name,
                device=device.device_name,
            )


def _nodes(topology: "pb.TopologyInfo") -> frozenset[int] | None:
    # Plugins hand on sysfs' -1 as if it were a node.
    return frozenset(node.ID for node in topology.nodes if node.ID >= 0) or None
