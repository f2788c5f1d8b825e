"""What the kubelet granted: its three checkpoint files below /var/lib/kubelet.

kubernetes pkg/kubelet/cm/cpumanager/state/checkpoint.go, memorymanager/state/checkpoint.go,
devicemanager/checkpoint/checkpoint.go; all JSON on one line::

    {"policyName":"static","defaultCpuSet":"0,4-27","entries":{"513cb897-…":{"app":"1-3"}},"checksum":1982473279}
    {"policyName":"none","defaultCpuSet":"","checksum":1353318690}
    {"policyName":"Static","machineState":{…},"entries":{"pod1":{"c1":[{"numaAffinity":[0],"type":"memory",
        "size":536870912}]}},"checksum":1}
    {"Data":{"PodDeviceEntries":[{"PodUID":"bf52…","ContainerName":"check","ResourceName":"nvidia.com/gpu",
        "DeviceIDs":{"-1":["tegra"]},"AllocResp":"…"}],"RegisteredDevices":{"nvidia.com/gpu":["tegra"]}},…}

Sizes are bytes. Checksums are Go's and not verified. Schemas: entries of the CPU manager were keyed by
container id before 1.14; ``podEntries`` (KEP-5526) grants to a whole pod; later both managers repeat the
content in ``data``, a string that is the authority where it exists. Before 1.20 DeviceIDs was a plain list.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from numa_exporter.formats import idlist, number
from numa_exporter.formats.json_object import Object, load, member, members, objects, of_kind
from numa_exporter.formats.parse_error import ParseError


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuGrant:
    """Exclusive CPUs of one container, or of the whole pod where ``container`` is None.

    In the schema before 1.14 only ``container_id`` is known.
    """

    pod_uid: str | None
    container: str | None
    container_id: str | None
    cpus: frozenset[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuManagerState:
    """``policy`` is ``none`` or ``static``; ``shared_cpus`` is the pool of all who have no grant."""

    policy: str
    shared_cpus: frozenset[int]
    grants: tuple[CpuGrant, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryGrant:
    """Memory promised to a container, or to the whole pod where ``container`` is None.

    ``memory_type`` is ``memory`` or ``hugepages-2Mi`` and the like; ``nodes`` together hold the bytes.
    """

    pod_uid: str
    container: str | None
    memory_type: str
    nodes: frozenset[int]
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryManagerState:
    """``policy`` is ``None``, ``Static`` or ``BestEffort``, capitalised as the file is."""

    policy: str
    grants: tuple[MemoryGrant, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceGrant:
    """``devices`` maps each device id to the nodes that its plugin reported, empty where it reported none."""

    pod_uid: str
    container: str
    resource: str
    devices: Mapping[str, frozenset[int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceCheckpoint:
    """``registered`` lists the healthy device ids by resource name."""

    grants: tuple[DeviceGrant, ...]
    registered: Mapping[str, tuple[str, ...]]


def parse_cpu_manager(data: bytes, path: str) -> CpuManagerState:
    """/var/lib/kubelet/cpu_manager_state."""
    state = _checkpoint(data, path)
    return CpuManagerState(
        policy=_policy(state, path),
        shared_cpus=_cpus(member(state, "defaultCpuSet", str, path), path),
        grants=tuple(_cpu_grants(state, path)),
    )


def parse_memory_manager(data: bytes, path: str) -> MemoryManagerState:
    """/var/lib/kubelet/memory_manager_state."""
    state = _checkpoint(data, path)
    return MemoryManagerState(policy=_policy(state, path), grants=tuple(_memory_grants(state, path)))


def parse_devices(data: bytes, path: str) -> DeviceCheckpoint:
    """/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint."""
    content = member(load(data, path), "Data", dict, path)
    registered = member(content, "RegisteredDevices", dict, path)
    return DeviceCheckpoint(
        grants=tuple(
            DeviceGrant(
                pod_uid=member(entry, "PodUID", str, path),
                container=member(entry, "ContainerName", str, path),
                resource=member(entry, "ResourceName", str, path),
                devices=_devices(entry.get("DeviceIDs"), path),
            )
            for entry in objects(content, "PodDeviceEntries", path)
        ),
        registered={resource: tuple(map(str, ids)) for resource, ids in members(registered, list, path)},
    )


def _checkpoint(data: bytes, path: str) -> Object:
    state = load(data, path)
    embedded = member(state, "data", str, path)
    return load(embedded.encode(), path) if embedded else state


def _policy(state: Object, path: str) -> str:
    policy = member(state, "policyName", str, path)
    if not policy:
        raise ParseError(path, 1, f"{state!r}".encode(), "a policyName")
    return policy


def _cpu_grants(state: Object, path: str) -> Iterator[CpuGrant]:
    for key, value in member(state, "entries", dict, path).items():
        if isinstance(value, str):
            yield CpuGrant(pod_uid=None, container=None, container_id=key, cpus=_cpus(value, path))
            continue
        for name, text in members(of_kind(value, dict, key, path), str, path):
            yield CpuGrant(pod_uid=key, container=name, container_id=None, cpus=_cpus(text, path))
    for uid, entry in members(member(state, "podEntries", dict, path), dict, path):
        cpus = _cpus(member(entry, "cpuSet", str, path), path)
        yield CpuGrant(pod_uid=uid, container=None, container_id=None, cpus=cpus)


def _memory_grants(state: Object, path: str) -> Iterator[MemoryGrant]:
    for uid, containers in members(member(state, "entries", dict, path), dict, path):
        for name in containers:
            for block in objects(containers, name, path):
                yield _memory_grant(uid, name, block, path)
    for uid, entry in members(member(state, "podEntries", dict, path), dict, path):
        for block in objects(entry, "memoryBlocks", path):
            yield _memory_grant(uid, None, block, path)


def _memory_grant(uid: str, container: str | None, block: Object, path: str) -> MemoryGrant:
    nodes = member(block, "numaAffinity", list, path)
    return MemoryGrant(
        pod_uid=uid,
        container=container,
        memory_type=member(block, "type", str, path),
        nodes=frozenset(of_kind(node, int, "a NUMA node", path) for node in nodes),
        size_bytes=member(block, "size", int, path),
    )


def _devices(value: object, path: str) -> dict[str, frozenset[int]]:
    if isinstance(value, list):
        return {str(device): frozenset() for device in value}
    nodes: dict[str, set[int]] = {}
    for key, ids in members(of_kind(value, dict, "DeviceIDs", path), list, path):
        # -1 is the device manager's "the plugin reported no topology" (pod_devices.go: nodeWithoutTopology).
        told = {number.parse(key.encode(), path)} - {-1}
        for device in ids:
            nodes.setdefault(str(device), set()).update(told)
    return {device: frozenset(told) for device, told in nodes.items()}


def _cpus(text: str, path: str) -> frozenset[int]:
    return idlist.parse(text.encode(), path)
