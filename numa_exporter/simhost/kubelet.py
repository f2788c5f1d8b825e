"""What a kubelet keeps on disk: its configuration, and the CPUs and GPUs that it granted."""

import json
from collections.abc import Mapping, Sequence

from numa_exporter.simhost.answers import Answers
from numa_exporter.simhost.cast import Cast, Incarnation
from numa_exporter.simhost.layout import Layout, id_list

ROOT = "/var/lib/kubelet"
RESOURCE = "nvidia.com/gpu"
PODS = "/sys/fs/cgroup/kubepods.slice"


def answers(layout: Layout, cast: Cast, now: float) -> Answers:
    """Nothing where the machine's ``kubelet`` is empty: a host without Kubernetes."""
    found = Answers()
    policy = layout.machine.kubelet
    if not policy:
        return found
    pods = [one for one in cast.alive(now) if not one.workload.unit]
    config = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "cgroupDriver": "systemd",
        "cpuManagerPolicy": "static",
        "memoryManagerPolicy": "None",
        "topologyManagerPolicy": policy,
        "topologyManagerScope": "container",
    }
    found.file(f"{ROOT}/config.yaml", "\n".join(f"{key}: {value}" for key, value in config.items()))
    found.file(f"{ROOT}/cpu_manager_state", json.dumps(_cpus(cast, pods)))
    found.file(f"{ROOT}/memory_manager_state", '{"policyName":"None","machineState":{},"entries":{},"checksum":1}')
    found.file(f"{ROOT}/device-plugins/kubelet_internal_checkpoint", json.dumps(_devices(layout, pods)))
    _slices(found, pods)
    return found


def _cpus(cast: Cast, pods: Sequence[Incarnation]) -> Mapping[str, object]:
    """pkg/kubelet/cm/cpumanager/state: the static policy gives whole CPUs to Guaranteed pods alone."""
    granted = {one.pod_uid: {one.workload.container: id_list(one.granted)} for one in pods if one.granted}
    shared = id_list(cast.shared_cpus)
    return {"policyName": "static", "defaultCpuSet": shared, "entries": granted, "checksum": 1}


def _devices(layout: Layout, pods: Sequence[Incarnation]) -> Mapping[str, object]:
    """pkg/kubelet/cm/devicemanager/checkpoint: devices by the NUMA node that the plugin told."""
    entries = []
    for one in pods:
        by_node: dict[str, list[str]] = {}
        for number in one.workload.gpus:
            gpu = layout.gpus[number]
            by_node.setdefault(str(gpu.node), []).append(gpu.uuid)
        entry = {"PodUID": one.pod_uid, "ContainerName": one.workload.container, "ResourceName": RESOURCE}
        entries.append({**entry, "DeviceIDs": by_node, "AllocResp": ""})
    registered = {RESOURCE: [gpu.uuid for gpu in layout.gpus]}
    return {"Data": {"PodDeviceEntries": entries, "RegisteredDevices": registered}, "Checksum": 1}


def _slices(found: Answers, pods: Sequence[Incarnation]) -> None:
    """The directories of the pods, by which a dead pod's grant is told from a living one's."""
    folders: dict[str, set[str]] = {PODS: {f"kubepods-{qos}.slice" for qos in ("burstable", "besteffort")}}
    for one in pods:
        above, _, pod = one.cgroup.rpartition("/")[0].rpartition("/")
        folders.setdefault(f"/sys/fs/cgroup{above}", set()).add(pod)
    for folder, names in folders.items():
        found.listing(folder, sorted(names))
