"""Grants: what each container was promised, joined from the kubelet's files and its PodResources answer.

The files know a pod by its UID, PodResources by its names. What ties them: the pod's log directory, else devices or
exclusive CPUs, which no two containers hold at once. A pod whose cgroup is gone holds nothing, whatever a checkpoint
still says.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from numa_exporter.formats.podresources import ContainerResources, PodResources
from numa_exporter.model.ids import CpuSet, WorkloadKey
from numa_exporter.model.kubelet import Grant, GrantedGpu, Kubelet, MemoryGrant
from numa_exporter.model.names import Names, PodName
from numa_exporter.model.placement import Machine
from numa_exporter.placement.granted_devices import claimed_gpu, granted_gpu, is_gpu_resource


@dataclass(slots=True, kw_only=True)
class _Draft:
    """A grant as it is put together. ``uid`` or ``pod`` is None where only the other is known."""

    uid: str | None = None
    pod: PodName | None = None
    container: str | None = None
    container_id: str | None = None
    cpus: CpuSet = frozenset()
    devices: dict[str, str] = field(default_factory=dict)
    claims: dict[str, GrantedGpu | None] = field(default_factory=dict)
    memory: tuple[MemoryGrant, ...] = ()


Pod = tuple[str | None, PodName | None]


def grants(kubelet: Kubelet, names: Names, machine: Machine) -> tuple[Grant, ...]:
    """Those that promise anything, of pods that live; in order of their keys."""
    drafts = _of_files(kubelet)
    uids = _uids(kubelet, names, drafts)
    of_pod = {uid: pod for pod, uid in uids.items()}
    for draft in drafts.values():
        if draft.uid is not None:
            draft.pod = names.pods.get(draft.uid) or of_pod.get(draft.uid)
        elif known := names.containers.get(draft.container_id or ""):
            draft.pod, draft.container = PodName(namespace=known.namespace, pod=known.pod), known.container
    # Before 1.22 PodResources lists the shared pool as the CPUs of whoever has none of its own (kubernetes#100211).
    shared = kubelet.cpu.shared_cpus if kubelet.cpu else frozenset()
    for pod in kubelet.pods or ():
        name = PodName(namespace=pod.namespace, pod=pod.name)
        _add_answers(drafts, (uids.get(name), name), pod, machine, shared)
    living = [draft for draft in drafts.values() if _lives(draft, kubelet, names)]
    made = (_grant(draft, machine) for draft in living)
    return tuple(sorted((grant for grant in made if _promises(grant)), key=lambda grant: str(grant.key)))


def grant_of(
    made: Iterable[Grant], pod_uid: str | None, container: str | None, container_id: str | None
) -> Grant | None:
    """A container's own grant. None where it has none, or where it is not known which container it is."""
    for grant in made:
        if grant.container_id is not None and grant.container_id == container_id:
            return grant
        if container is not None and grant.container == container and pod_uid is not None and grant.pod_uid == pod_uid:
            return grant
    return None


def _of_files(kubelet: Kubelet) -> dict[tuple[str | None, str | None], _Draft]:
    """By (uid, container); by (None, container id) in the CPU manager's oldest schema."""
    drafts: dict[tuple[str | None, str | None], _Draft] = {}

    def draft(uid: str | None, container: str | None) -> _Draft:
        key = (uid.lower() if uid else None, container)
        return drafts.setdefault(key, _Draft(uid=key[0], container=container))

    for cpu in kubelet.cpu.grants if kubelet.cpu else ():
        own = draft(cpu.pod_uid, cpu.container_id or cpu.container)
        own.cpus = cpu.cpus
        if cpu.container_id is not None:
            own.container, own.container_id = None, cpu.container_id
    for block in kubelet.memory.grants if kubelet.memory else ():
        own = draft(block.pod_uid, block.container)
        promised = MemoryGrant(memory_type=block.memory_type, nodes=block.nodes, size_bytes=block.size_bytes)
        own.memory = (*own.memory, promised)
    for held in kubelet.devices.grants if kubelet.devices else ():
        draft(held.pod_uid, held.container).devices |= dict.fromkeys(held.devices, held.resource)
    return drafts


def _uids(kubelet: Kubelet, names: Names, drafts: Mapping[tuple[str | None, str | None], _Draft]) -> dict[PodName, str]:
    """UID of each pod that PodResources names, as far as it can be told."""
    found = {pod: uid for uid, pod in names.pods.items() if kubelet.living is None or uid in kubelet.living}
    # A checkpoint keeps pods that ended; their devices may be somebody else's by now.
    held = [draft for draft in drafts.values() if draft.uid and _lives(draft, kubelet, names)]
    by_device = {(draft.container, device): draft.uid for draft in held for device in draft.devices}
    by_cpus = {(draft.container, draft.cpus): draft.uid for draft in held if draft.cpus}
    for pod in kubelet.pods or ():
        name = PodName(namespace=pod.namespace, pod=pod.name)
        for container in pod.containers:
            ids = (device for devices in container.devices for device in devices.ids)
            told = next((uid for device in ids if (uid := by_device.get((container.name, device)))), None)
            uid = told or by_cpus.get((container.name, container.cpus))
            if uid is not None:
                found.setdefault(name, uid)
    return found


def _add_answers(
    drafts: dict[tuple[str | None, str | None], _Draft],
    owner: Pod,
    pod: PodResources,
    machine: Machine,
    shared: CpuSet,
) -> None:
    """What PodResources adds: the claims of DRA, and all else where a file could not be read."""
    uid, name = owner
    for container in pod.containers:
        key = (uid or f"{pod.namespace}/{pod.name}", container.name)
        draft = drafts.setdefault(key, _Draft(uid=uid, pod=name, container=container.name))
        draft.cpus = draft.cpus or container.cpus - shared
        draft.devices |= dict(_devices(container))
        draft.claims |= {
            f"{claimed.driver}/{claimed.device}": claimed_gpu(claimed, machine) for claimed in container.claimed
        }
        draft.memory = draft.memory or tuple(
            MemoryGrant(memory_type=block.memory_type, nodes=block.nodes or frozenset(), size_bytes=block.size_bytes)
            for block in container.memory
        )
    if pod.cpus:
        whole = drafts.setdefault((uid or f"{pod.namespace}/{pod.name}", None), _Draft(uid=uid, pod=name))
        whole.cpus = whole.cpus or pod.cpus


def _devices(container: ContainerResources) -> Iterator[tuple[str, str]]:
    for devices in container.devices:
        yield from ((device, devices.resource) for device in devices.ids)


def _lives(draft: _Draft, kubelet: Kubelet, names: Names) -> bool:
    """Unknown counts as alive."""
    if kubelet.living is None:
        return True
    if draft.uid is not None:
        return draft.uid in kubelet.living
    # PodResources of many versions lists pods that ended: their log directories stay, their cgroups do not.
    return draft.pod is None or draft.pod not in names.pods.values()


def _grant(draft: _Draft, machine: Machine) -> Grant:
    resolved = {
        device: granted_gpu(device, resource, machine) for device, resource in draft.devices.items() if "/" in resource
    }
    lost = [device for device, gpu in resolved.items() if gpu is None and is_gpu_resource(draft.devices[device])]
    lost += [device for device, gpu in draft.claims.items() if gpu is None and device.startswith("gpu.")]
    return Grant(
        key=_key(draft),
        pod_uid=draft.uid,
        container=draft.container,
        container_id=draft.container_id,
        cpus=draft.cpus,
        gpus=tuple(_known((*resolved.values(), *draft.claims.values()))),
        memory=draft.memory,
        unknown_devices=tuple(sorted(lost)),
    )


def _known(gpus: Iterable[GrantedGpu | None]) -> list[GrantedGpu]:
    return sorted((gpu for gpu in gpus if gpu is not None), key=lambda gpu: (gpu.uuid, gpu.device))


def _promises(grant: Grant) -> bool:
    return bool(grant.cpus or grant.gpus or grant.memory or grant.unknown_devices)


def _key(draft: _Draft) -> WorkloadKey:
    """By names; where they are not known, by the pod's UID, as the pod's own cgroup is called."""
    if draft.pod is not None:
        return WorkloadKey(namespace=draft.pod.namespace, pod=draft.pod.pod, container=draft.container)
    if draft.uid is not None:
        return WorkloadKey(container=draft.container, unit=f"pod/{draft.uid}")
    return WorkloadKey(container=draft.container, unit=(draft.container_id or "unknown")[:12])
