"""not_exclusive: the CPU manager is static, and a container with a GPU has no CPUs of its own; and why.

kubernetes pkg/kubelet/cm/cpumanager/policy_static.go, guaranteedCPUs: the pod must be Guaranteed and the container's
CPU request a whole number. Anything else shares the pool, on every node, whatever the topology policy is called.
"""

from collections.abc import Iterator

from numa_exporter.findings import evidence, words
from numa_exporter.findings.effect import effect
from numa_exporter.findings.kubernetes_forms import pod_spec
from numa_exporter.findings.rule import Rule
from numa_exporter.findings.scene import Scene
from numa_exporter.model.kubelet import Promises
from numa_exporter.model.placement import Workload
from numa_exporter.model.report import Finding, Subject

_ALIGNING = ("best-effort", "restricted", "single-numa-node")


def find(scene: Scene) -> Iterator[Finding]:
    promised = scene.placement.promises
    if promised is None or promised.policies.cpu_manager != "static" or promised.cpuset_agent is not None:
        return
    if sum(placed.kind == "cpu" for placed in scene.machine.nodes) < 2:
        return  # on one node its own CPUs are as near as any
    for workload in scene.placement.workloads:
        reason = _reason(workload, promised) if workload.ranks and workload.pod_uid else None
        if reason is None:
            continue
        policy = promised.policies.topology_manager
        aligned = f", so that {policy} aligns its devices and not its CPUs" if policy in _ALIGNING else ""
        yield Finding(
            code="not_exclusive",
            level="info",
            subject=Subject(workload=workload.key),
            sentence=f"{workload.key} on {words.gpus(scene.machine, workload.gpus)} shares its CPUs with others though "
            f"the CPU manager is static: {reason}{aligned}.",
            evidence=(*evidence.granted((), promised), *evidence.cpuset(workload)),
            remedy=pod_spec(workload),
            remedy_note=effect(scene, workload.ranks[0]),
        )


def _reason(workload: Workload, promised: Promises) -> str | None:
    """None where it has exclusive CPUs, alone or with its pod, or where that is not known."""
    own = [grant for grant in promised.grants if grant.pod_uid == workload.pod_uid and grant.container is None]
    if (workload.grant and workload.grant.cpus) or any(grant.cpus for grant in own):
        return None
    if workload.qos_class in ("Burstable", "BestEffort"):
        return f"its pod is {workload.qos_class}, and only a Guaranteed one gets CPUs of its own"
    if workload.qos_class == "Guaranteed" and workload.key.container and promised.shared_cpus is not None:
        return "it requests no whole number of CPUs"
    return None


RULE = Rule(
    code="not_exclusive",
    levels=("info",),
    docs="The CPU manager is static, but the container got no exclusive CPUs: its QoS class, or a fractional request.",
    find=find,
    looks=True,
)
