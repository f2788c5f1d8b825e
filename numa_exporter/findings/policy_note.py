"""policy_note: what the kubelet's topology policy really admits on this machine, for its name promises more.

KEP-693 and pkg/kubelet/cm/topologymanager: hints are merged at admission and never looked at again; a hint comes from
the static CPU manager for whole CPUs of Guaranteed pods, from the static memory manager, and from a device plugin
that reports nodes. ``preferred`` means the fewest nodes that could ever hold the request, not one node.
"""

from collections.abc import Iterator

from numa_exporter.findings.rule import Rule
from numa_exporter.findings.scene import Scene
from numa_exporter.model.kubelet import Policies
from numa_exporter.model.report import Evidence, Finding, Subject


def find(scene: Scene) -> Iterator[Finding]:
    promised = scene.placement.promises
    with_cpus = [placed for placed in scene.machine.nodes if placed.kind == "cpu"]
    if promised is None or len(with_cpus) < 2:
        return
    policies = promised.policies
    said = _restart(policies) or _admits(scene, policies)
    if said is not None:
        yield Finding(
            code="policy_note",
            level="info",
            subject=Subject(),
            sentence=f"The kubelet {said}.",
            evidence=tuple(_evidence(policies, promised.root)),
            remedy="kubectl get --raw /api/v1/nodes/NODE/proxy/configz  # what is in force",
        )


def _restart(policies: Policies) -> str | None:
    asked, runs = policies.configured_cpu_manager, policies.cpu_manager
    if not asked or asked == runs:
        return None
    return (
        f"runs with cpuManagerPolicy {runs} though its configuration asks for {asked}: "
        "a flag overrides it, or it was not restarted since"
    )


def _admits(scene: Scene, policies: Policies) -> str | None:
    match policies.topology_manager:
        case "best-effort":
            said = (
                "under best-effort admits every pod, aligned or not, and prefers a narrow placement only if one is free"
            )
        case "restricted":
            most = _most_on_a_node(scene)
            wide = f", which here begins with {most + 1} GPUs" if 0 < most < len(scene.machine.gpus) else ""
            said = f"under restricted admits a request that no single node could ever hold across several{wide}"
        case "single-numa-node":
            said = "under single-numa-node aligns at admission whatever gives it a hint, and nothing else"
        case _:
            return None
    return said + _without_hints(policies)


def _without_hints(policies: Policies) -> str:
    """What no hint is given for, so that it may lie anywhere in a pod that was admitted as aligned. Nothing of a
    manager whose policy is not known."""
    silent = []
    if policies.cpu_manager == "static":
        silent.append("CPUs of a pod that is not Guaranteed or asks for a part of one")
    elif policies.cpu_manager:
        silent.append("CPUs of an admitted pod")
    if policies.memory_manager == "static":
        silent.append("memory of a pod that is not Guaranteed")
    elif policies.memory_manager:
        silent.append("memory of an admitted pod")
    return f"; {' and '.join(silent)} may lie on any node" if silent else ""


def _most_on_a_node(scene: Scene) -> int:
    counts: dict[int, int] = {}
    for placed in scene.machine.gpus:
        for node in placed.affinity[:1]:
            counts[node] = counts.get(node, 0) + 1
    return max(counts.values(), default=0)


def _evidence(policies: Policies, root: str) -> Iterator[Evidence]:
    if policies.path and policies.topology_manager:
        scope = f", topologyManagerScope: {policies.topology_scope}" if policies.topology_scope else ""
        yield Evidence(path=policies.path, line=f"topologyManagerPolicy: {policies.topology_manager}{scope}")
    if policies.cpu_manager:
        yield Evidence(path=f"{root}/cpu_manager_state", line=f'"policyName":"{policies.cpu_manager}"')
    if policies.memory_manager:
        yield Evidence(path=f"{root}/memory_manager_state", line=f'"policyName":"{policies.memory_manager}"')


RULE = Rule(
    code="policy_note",
    levels=("info",),
    docs="What the kubelet's topology policy really admits on this machine.",
    find=find,
)
