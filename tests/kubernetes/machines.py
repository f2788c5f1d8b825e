"""Kubelets by hand: what tests of grants, fragmentation and names read instead of a node's files.

    node = Node(two_socket()).granting("llm-0", gpus=("GPU-0",), cpus="0-7")
    node.sample(pod_task(1, "llm-0", gpus="GPU-0"))

Pods are in namespace prod and have one container, vllm; a pod's UID and container id follow from its name.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from numa_exporter.formats.kubelet_config import KubeletConfig
from numa_exporter.formats.kubelet_state import (
    CpuGrant,
    CpuManagerState,
    DeviceCheckpoint,
    DeviceGrant,
    MemoryManagerState,
)
from numa_exporter.formats.podresources import (
    Allocatable,
    ContainerResources,
    PluginDevices,
    PodResources,
)
from numa_exporter.model.kubelet import Kubelet, Promises
from numa_exporter.model.names import ContainerName, Names, PodName
from numa_exporter.model.processes import Cgroup
from numa_exporter.model.sample import Sample
from numa_exporter.model.thresholds import Settings
from numa_exporter.sources.kubelet import DEFAULTS
from tests.builders import Parts, Task, cpus, placed, sample, task

GPU = "nvidia.com/gpu"


def uid(pod: str) -> str:
    digest = hashlib.sha256(pod.encode()).hexdigest()
    return "-".join((digest[:8], digest[8:12], digest[12:16], digest[16:20], digest[20:32]))


def container_id(pod: str, container: str = "vllm") -> str:
    return hashlib.sha256(f"{pod}/{container}".encode()).hexdigest()


def cgroup_path(pod: str, qos: str = "", container: str = "vllm") -> str:
    """As the kubelet's systemd driver and containerd make it."""
    parent = f"kubepods-{qos}" if qos else "kubepods"
    slices = f"/kubepods.slice/{parent}.slice" if qos else "/kubepods.slice"
    return (
        f"{slices}/{parent}-pod{uid(pod).replace('-', '_')}.slice/cri-containerd-{container_id(pod, container)}.scope"
    )


def pod_task(pid: int, pod: str, *, qos: str = "", container: str = "vllm", **fields: object) -> Task:
    return task(pid, cgroup=cgroup_path(pod, qos, container), **fields)  # type: ignore[arg-type]


def pod_cgroup(pod: str, allowed: str, qos: str = "", container: str = "vllm") -> Cgroup:
    path = cgroup_path(pod, qos, container)
    where = f"/sys/fs/cgroup{path}"
    return Cgroup(path=path, version=2, cpus=cpus(allowed), mems=frozenset({0, 1}), cpuset_directory=where)


def names_of(*pods: str, containers: Iterable[str] = ("vllm",)) -> Names:
    return Names(
        pods={uid(pod): PodName(namespace="prod", pod=pod) for pod in pods},
        containers={
            container_id(pod, name): ContainerName(namespace="prod", pod=pod, container=name)
            for pod in pods
            for name in containers
        },
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Granted:
    pod: str
    gpus: tuple[str, ...] = ()
    cpus: str = ""
    node: int | None = None


@dataclass(frozen=True, slots=True)
class Node:
    """A machine with a kubelet. The pool is what nobody was granted."""

    parts: Parts
    grants: tuple[Granted, ...] = ()
    policy: str = "static"
    topology: str = "single-numa-node"
    memory: str = "none"
    names: Names | None = None
    changes: Mapping[str, object] = field(default_factory=dict)

    def granting(self, pod: str, *, gpus: tuple[str, ...] = (), cpus: str = "", node: int | None = None) -> "Node":
        return replace(self, grants=(*self.grants, Granted(pod=pod, gpus=gpus, cpus=cpus, node=node)))

    def with_kubelet(self, **changes: object) -> "Node":
        return replace(self, changes={**self.changes, **changes})

    @property
    def kubelet(self) -> Kubelet:
        everywhere = self.parts.topology.online_cpus
        made = Kubelet(
            cpu=CpuManagerState(
                policy=self.policy,
                shared_cpus=everywhere - frozenset().union(*(cpus(one.cpus) for one in self.grants)),
                grants=tuple(
                    CpuGrant(pod_uid=uid(one.pod), container="vllm", container_id=None, cpus=cpus(one.cpus))
                    for one in self.grants
                    if one.cpus
                ),
            ),
            memory=MemoryManagerState(policy=self.memory, grants=()),
            devices=DeviceCheckpoint(
                grants=tuple(
                    DeviceGrant(
                        pod_uid=uid(one.pod),
                        container="vllm",
                        resource=GPU,
                        devices=dict.fromkeys(one.gpus, frozenset() if one.node is None else frozenset({one.node})),
                    )
                    for one in self.grants
                    if one.gpus
                ),
                registered={GPU: tuple(gpu.uuid for gpu in self.parts.gpus.gpus)},
            ),
            config=config(topologyManagerPolicy=self.topology),
            config_path="/var/lib/kubelet/config.yaml",
        )
        return replace(made, **self.changes)  # type: ignore[arg-type]

    def sample(self, *tasks: Task, at: float = 0.0, cgroups: Iterable[Cgroup] = (), **fields: object) -> Sample:
        named = self.names or names_of(*(one.pod for one in self.grants))
        return sample(self.parts, *tasks, at=at, cgroups=cgroups, **{"kubelet": self.kubelet, "names": named, **fields})

    def promises(self, *tasks: Task, settings: Settings | None = None) -> Promises:
        found = placed(self.sample(*tasks), settings=settings).promises
        assert found is not None
        return found


def config(**keys: str) -> KubeletConfig:
    """A configuration with the kubelet's defaults for what is not named."""
    spelt = {"cpuManagerPolicy": "cpu_manager_policy", "topologyManagerPolicy": "topology_manager_policy"}
    return replace(DEFAULTS, **{"cpu_manager_policy": None, **{spelt[key]: value for key, value in keys.items()}})


def answer(
    pod: str, *ids: str, resource: str = GPU, nodes: frozenset[int] | None = None, cpu: str = ""
) -> PodResources:
    """A pod of PodResources' List."""
    devices = (PluginDevices(resource=resource, ids=ids, nodes=nodes),) if ids else ()
    return PodResources(
        namespace="prod", name=pod, containers=(ContainerResources(name="vllm", devices=devices, cpus=cpus(cpu)),)
    )


def offered(by_node: Mapping[int | None, tuple[str, ...]], resource: str = GPU) -> Allocatable:
    """GetAllocatableResources: device ids by the node that the plugin reports."""
    return Allocatable(
        devices=tuple(
            PluginDevices(resource=resource, ids=ids, nodes=None if node is None else frozenset({node}))
            for node, ids in by_node.items()
        )
    )
