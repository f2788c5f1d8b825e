"""The document's section on the kubelet: policies, grants, and what requests could still take."""

from numa_exporter.formats import idlist
from numa_exporter.model.kubelet import Grant, Promises
from numa_exporter.model.recording import Json


def section(promised: Promises | None) -> Json:
    """None where no kubelet is heard."""
    if promised is None:
        return None
    policies = promised.policies
    usable: dict[str, dict[str, Json]] = {}
    for (size, policy), count in promised.usable.items():
        usable.setdefault(policy, {})[str(size)] = count
    return {
        "policies": {
            "cpu_manager": policies.cpu_manager,
            "memory_manager": policies.memory_manager,
            "topology_manager": policies.topology_manager,
            "topology_scope": policies.topology_scope,
        },
        "shared_cpus": None if promised.shared_cpus is None else idlist.render(promised.shared_cpus),
        "grants": [_grant(grant) for grant in promised.grants],
        "granted": dict(promised.granted),
        "usable": usable,
        "stranded": {str(size): count for size, count in promised.stranded.items()},
        "cpuset_agent": promised.cpuset_agent,
    }


def _grant(grant: Grant) -> Json:
    return {
        "namespace": grant.key.namespace,
        "pod": grant.key.pod,
        "container": grant.container,
        "pod_uid": grant.pod_uid,
        "cpus": idlist.render(grant.cpus),
        "gpus": [{"uuid": gpu.uuid, "device": gpu.device, "mig_uuid": gpu.mig_uuid} for gpu in grant.gpus],
        "memory": [
            {"type": block.memory_type, "nodes": sorted(block.nodes), "bytes": block.size_bytes}
            for block in grant.memory
        ],
        "unknown_devices": list(grant.unknown_devices),
    }
