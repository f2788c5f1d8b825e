"""What Kubernetes needs to bind a pod: the kubelet's configuration and the pod's resources, as far as they differ.

Field names are those of kubelet.config.k8s.io/v1beta1 (staging/src/k8s.io/kubelet/config/v1beta1/types.go). The kubelet
binds whole CPUs of Guaranteed pods under its static policies and nothing else (cpumanager/policy_static.go).
"""

import json
from collections.abc import Iterator

from numa_exporter.formats import idlist
from numa_exporter.model.kubelet import Policies, Promises
from numa_exporter.model.placement import Machine, Workload
from numa_exporter.model.thresholds import KUBELET_ROOT

ALIGNING = ("restricted", "single-numa-node")
"""Policies that refuse what could lie narrower. ``restricted`` still admits requests larger than a node."""
MOST_NODES = 8
"""With more the Topology Manager does not start without an option (KEP-4622); empty nodes count."""
EVICTION = "100Mi"
"""evictionHard's memory.available by default: all that a kubelet reserves unless it is told of more."""


def kubernetes_forms(machine: Machine, promised: Promises | None, workload: Workload) -> Iterator[str]:
    """KubeletConfiguration and pod spec, without what is set already; nothing where an agent writes the cpusets."""
    if promised is not None and promised.cpuset_agent is not None:
        return
    policies = promised.policies if promised else Policies()
    root = promised.root if promised else KUBELET_ROOT
    configuration = list(_kubelet(machine, policies))
    if configuration:
        head = ("apiVersion: kubelet.config.k8s.io/v1beta1", "kind: KubeletConfiguration")
        yield "\n".join((*_restart(policies, root), *head, *configuration))
    if _lacks_class(policies, workload):
        yield pod_spec(workload)


def pod_spec(workload: Workload) -> str:
    """The resources of a container that gets CPUs of its own."""
    name = json.dumps(workload.key.container) if workload.key.container else "CONTAINER"
    return "\n".join(
        (
            "# pod spec: a whole number of CPUs; requests equal to limits in every container of the pod (Guaranteed)",
            "spec:",
            "  containers:",
            f"  - name: {name}",
            "    resources:",
            "      requests: {cpu: CPUS, memory: MEMORY}",
            "      limits: {cpu: CPUS, memory: MEMORY}",
        )
    )


def _kubelet(machine: Machine, policies: Policies) -> Iterator[str]:
    with_cpus = [placed for placed in machine.nodes if placed.kind == "cpu" and placed.online_cpus]
    if policies.cpu_manager != "static":
        reserved = idlist.render(min(placed.online_cpus) for placed in with_cpus)
        yield "cpuManagerPolicy: static"
        yield f'reservedSystemCPUs: "{reserved}"  # static needs some; leave it out where kubeReserved has cpu'
    if policies.memory_manager != "static":
        first = next((placed.id for placed in with_cpus if placed.has_memory), 0)
        yield "memoryManagerPolicy: Static"
        yield "reservedMemory:  # in all: kubeReserved + systemReserved + evictionHard, or the kubelet does not start"
        yield f"- {{numaNode: {first}, limits: {{memory: {EVICTION}}}}}"
    if policies.topology_manager not in ALIGNING:
        yield "topologyManagerPolicy: restricted"
        if len(machine.nodes) > MOST_NODES:
            yield f'topologyManagerPolicyOptions: {{max-allowable-numa-nodes: "{len(machine.nodes)}"}}'


def _restart(policies: Policies, root: str) -> Iterator[str]:
    """A kubelet that finds the state of another policy does not start."""
    changed = [
        f"{root}/{name}_manager_state"
        for name, policy in (("cpu", policies.cpu_manager), ("memory", policies.memory_manager))
        if policy != "static"
    ]
    remove = f", remove {' and '.join(changed)}" if changed else ""
    yield f"# kubelet, drained and stopped: merge this into its configuration{remove}; start it"


def _lacks_class(policies: Policies, workload: Workload) -> bool:
    """Whether the pod could get no CPUs of its own, or, under a static policy, has none."""
    if workload.grant and workload.grant.cpus:
        return False
    return workload.qos_class != "Guaranteed" or policies.cpu_manager == "static"
