"""Promises: what the kubelet granted, under which policies, and what is left for others."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from numa_exporter.model.kubelet import AlignmentPolicy, Kubelet, Policies, Promises
from numa_exporter.model.names import Names
from numa_exporter.model.placement import Machine
from numa_exporter.model.sample import Sample
from numa_exporter.model.thresholds import Settings
from numa_exporter.placement.fragmentation import POLICIES, SIZES, stranded, usable
from numa_exporter.placement.granted_devices import granted_gpu, is_part
from numa_exporter.placement.grants import grants
from numa_exporter.placement.workloads import excluded

_AGENT = re.compile(r"koordlet|katalyst-agent|nri-resource-policy|cri-res(?:ource-manager|mgr)|dracpu|dra-driver-cpu")
"""Koordinator, Katalyst, NRI's and CRI's resource policies, the DRA driver for CPUs: each writes cpusets of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Offer:
    """A GPU that a plugin offers under a resource: ``whole`` or a share or an instance of it, and the node that it
    reports."""

    resource: str
    uuid: str
    whole: bool
    node: int | None


def promises(sample: Sample, machine: Machine, settings: Settings) -> Promises | None:
    """None where there is no kubelet to be heard. Grants of workloads that are left out count, but are not shown."""
    kubelet, names = sample.kubelet, sample.names or Names()
    if kubelet is None:
        return None
    made = grants(kubelet, names, machine)
    # Where nobody told who holds what, a GPU is neither free nor taken.
    told = kubelet.pods is not None or kubelet.devices is not None
    offers = tuple(_offers(kubelet, machine)) if told else ()
    policies = _policies(kubelet)
    taken = frozenset(gpu.uuid for grant in made for gpu in grant.gpus)
    return Promises(
        policies=policies,
        grants=tuple(grant for grant in made if not excluded(grant.key, settings)),
        shared_cpus=kubelet.cpu.shared_cpus if kubelet.cpu and policies.cpu_manager == "static" else None,
        granted={uuid: uuid in taken for uuid in sorted({offer.uuid for offer in offers} | taken)},
        usable=_usable(offers, taken),
        stranded=_stranded(offers, taken, policies),
        cpuset_agent=_agent(kubelet, names),
        root=settings.kubelet_root,
    )


def _policies(kubelet: Kubelet) -> Policies:
    config = kubelet.config

    def word(in_force: str | None, configured: str | None) -> str | None:
        found = in_force or configured
        return found.lower() if found else None

    return Policies(
        cpu_manager=word(kubelet.cpu.policy if kubelet.cpu else None, config.cpu_manager_policy if config else None),
        memory_manager=word(
            kubelet.memory.policy if kubelet.memory else None, config.memory_manager_policy if config else None
        ),
        topology_manager=word(None, config.topology_manager_policy if config else None),
        topology_scope=word(None, config.topology_manager_scope if config else None),
        configured_cpu_manager=word(None, config.cpu_manager_policy if config else None),
        path=kubelet.config_path,
    )


def _offers(kubelet: Kubelet, machine: Machine) -> Iterator[_Offer]:
    """Healthy, allocatable devices that are GPUs: by PodResources, else by the checkpoint, which knows no nodes; the
    plugin took those from sysfs."""
    if kubelet.allocatable is not None:
        for devices in kubelet.allocatable.devices:
            for text in devices.ids:
                yield from _offer(text, devices.resource, min(devices.nodes) if devices.nodes else None, machine)
        return
    for resource, ids in kubelet.devices.registered.items() if kubelet.devices else ():
        for text in ids:
            gpu = granted_gpu(text, resource, machine)
            placed = machine.gpu(gpu.uuid) if gpu else None
            function = placed.gpu.function if placed else None
            yield from _offer(text, resource, function.numa_node if function else None, machine)


def _offer(text: str, resource: str, node: int | None, machine: Machine) -> Iterator[_Offer]:
    gpu = granted_gpu(text, resource, machine)
    if gpu is not None:
        yield _Offer(resource=resource, uuid=gpu.uuid, whole=not is_part(text), node=node)


def _by_resource(offers: tuple[_Offer, ...]) -> Mapping[str, dict[str, int | None]]:
    """Whole GPUs: a request is for one resource, and two never add up to it."""
    found: dict[str, dict[str, int | None]] = {}
    for offer in offers:
        if offer.whole:
            found.setdefault(offer.resource, {})[offer.uuid] = offer.node
    return found


def _usable(offers: tuple[_Offer, ...], taken: frozenset[str]) -> Mapping[tuple[int, AlignmentPolicy], int]:
    by_resource = _by_resource(offers).values()
    if not by_resource:
        return {}
    return {
        (size, policy): sum(usable(gpus, frozenset(gpus) - taken, size, policy) for gpus in by_resource)
        for size in SIZES
        for policy in POLICIES
    }


def _stranded(offers: tuple[_Offer, ...], taken: frozenset[str], policies: Policies) -> Mapping[int, int]:
    by_resource = _by_resource(offers).values()
    policy = _ADMITS.get(policies.topology_manager or "")
    if not by_resource or policy is None:
        return {}
    return {size: sum(stranded(gpus, frozenset(gpus) - taken, size, policy) for gpus in by_resource) for size in SIZES}


_ADMITS: Mapping[str, AlignmentPolicy] = {
    "none": "any",
    "best-effort": "any",
    "restricted": "restricted",
    "single-numa-node": "single-numa-node",
}


def _agent(kubelet: Kubelet, names: Names) -> str | None:
    """The pod of one that is known to write cpusets."""
    on_disk = (pod.pod for uid, pod in names.pods.items() if kubelet.living is None or uid in kubelet.living)
    found = {name for name in (*on_disk, *(pod.name for pod in kubelet.pods or ())) if _AGENT.search(name)}
    return min(found, default=None)
