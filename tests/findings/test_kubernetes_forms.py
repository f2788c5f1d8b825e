"""KubeletConfiguration and pod spec as remedies: YAML that the published APIs take, and only what is not set yet."""

from dataclasses import replace
from typing import Any

import pytest
import yaml

from numa_exporter.model.report import Finding
from tests.builders import GIB, gb200
from tests.findings.machines import CASES, GRANTED, SHARING
from tests.findings.watch import Script, last, of
from tests.kubernetes.machines import Node, names_of, pod_cgroup, pod_task
from tests.modules import need_module

FIELDS = {
    "apiVersion",
    "kind",
    "cpuManagerPolicy",
    "reservedSystemCPUs",
    "memoryManagerPolicy",
    "reservedMemory",
    "topologyManagerPolicy",
    "topologyManagerPolicyOptions",
}
"""Of KubeletConfiguration: json names in staging/src/k8s.io/kubelet/config/v1beta1/types.go."""


def remote(node: Node, allowed: str = "0-63", qos: str = "burstable") -> Finding:
    """memory_remote of pod llm-0 on GPU-0."""
    held = pod_task(1, "llm-0", gpus="GPU-0", qos=qos, mapped={"anon": {0: 3 * GIB, 1: GIB}})
    script: Script = lambda at: node.sample(held, at=at, cgroups=[pod_cgroup("llm-0", allowed, qos)])  # noqa: E731
    (found,) = of(last(script), "memory_remote")
    return found


def documents(finding: Finding) -> list[dict[str, Any]]:
    """The forms that are YAML."""
    forms = (finding.remedy or "").split("\n\n")
    return [yaml.safe_load(form) for form in forms if "\nkind: " in form or "\nspec:" in form]


def test_everything_where_nothing_is_set() -> None:
    kubelet, pod = documents(remote(replace(SHARING, policy="none", topology="none")))
    assert kubelet == {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "cpuManagerPolicy": "static",
        "reservedSystemCPUs": "0,16",
        "memoryManagerPolicy": "Static",
        "reservedMemory": [{"numaNode": 0, "limits": {"memory": "100Mi"}}],
        "topologyManagerPolicy": "restricted",
    }
    (container,) = pod["spec"]["containers"]
    assert container["name"] == "vllm"
    assert container["resources"]["requests"] == container["resources"]["limits"]


@pytest.mark.parametrize(
    ("allowed", "bound"), [("0-7", "0-7"), ("0-5", "0-5"), ("4-63", "4-7"), ("8-63", None), ("16-63", None)]
)
def test_a_binding_holds_before_and_after_a_broken_grant_is_mended(allowed: str, bound: str | None) -> None:
    """Granted 0-7: CPUs beside those are taken away with the next admission, and numactl would refuse them then."""
    found = remote(GRANTED, allowed, qos="")
    command = f"numactl --physcpubind={bound} --membind=0 COMMAND"
    assert (command in (found.remedy or "")) == (bound is not None)
    assert bound or ("numactl" not in (found.remedy or "") and "taskset" not in (found.remedy_note or ""))


@pytest.mark.parametrize(
    ("changed", "asked", "states"),
    [
        ({"topology": "best-effort", "memory": "Static"}, {"topologyManagerPolicy"}, ()),
        ({"topology": "restricted"}, {"memoryManagerPolicy", "reservedMemory"}, ("memory",)),
        (
            {"topology": "single-numa-node", "memory": "Static", "policy": "none"},
            {"cpuManagerPolicy", "reservedSystemCPUs"},
            ("cpu",),
        ),
    ],
)
def test_only_what_differs(changed: dict[str, str], asked: set[str], states: tuple[str, ...]) -> None:
    found = remote(replace(SHARING, **changed))
    kubelet = documents(found)[0]
    assert kubelet.keys() - {"apiVersion", "kind"} == asked
    assert kubelet.keys() <= FIELDS
    for name in ("cpu", "memory"):
        assert (f"/var/lib/kubelet/{name}_manager_state" in (found.remedy or "")) == (name in states)


def test_nothing_of_the_kubelet_where_all_is_set_nothing_of_a_pod_that_has_cpus_of_its_own() -> None:
    (pod,) = documents(remote(replace(SHARING, topology="restricted", memory="Static")))
    assert "spec" in pod
    (kubelet,) = documents(remote(GRANTED, "0-7", qos=""))
    assert kubelet["kind"] == "KubeletConfiguration"
    assert documents(remote(replace(GRANTED, topology="restricted", memory="Static"), "0-7", qos="")) == []


def test_what_is_ordered_already_is_said() -> None:
    ordered = replace(GRANTED, topology="restricted", memory="Static")
    held = pod_task(1, "llm-0", gpus="GPU-7")
    (found,) = of(last(lambda at: ordered.sample(held, at=at, cgroups=[pod_cgroup("llm-0", "0-7")])), "cpuset_off_home")
    assert found.remedy is None
    assert "device plugin" in (found.remedy_note or "")


def test_a_kubelet_that_was_not_heard_is_not_taken_for_one_without_policies() -> None:
    held = pod_task(1, "llm-0", gpus="GPU-0", qos="burstable", mapped={"anon": {0: 3 * GIB, 1: GIB}})
    (found,) = of(last(lambda at: SHARING.sample(held, at=at, kubelet=None)), "memory_remote")
    assert "No kubelet was heard here: leave out what it has set already." in (found.remedy_note or "").split("\n")
    assert "No kubelet" not in (remote(SHARING).remedy_note or "")


def test_where_an_agent_writes_cpusets_the_kubelet_is_not_asked() -> None:
    found = remote(replace(SHARING, names=names_of("llm-0", "koordlet-x7k2p")))
    assert documents(found) == []
    assert "koordlet-x7k2p" in (found.remedy_note or "")


def test_many_nodes_need_an_option() -> None:
    node = Node(gb200(), topology="none").granting("llm-0", gpus=("GPU-0",))
    held = pod_task(1, "llm-0", gpus="GPU-0", qos="burstable", mapped={"anon": {0: 3 * GIB, 1: GIB}})
    (found,) = of(last(lambda at: node.sample(held, at=at)), "memory_remote")
    options = documents(found)[0]["topologyManagerPolicyOptions"]
    assert options == {"max-allowable-numa-nodes": str(len(gb200().topology.nodes))}


def test_the_pod_spec_is_one() -> None:
    validate = need_module("kubernetes_validate", reason="needs kubernetes-validate (make test installs it)")
    spec = documents(remote(SHARING))[-1]
    text = yaml.safe_dump(spec).replace("CPUS", "'8'").replace("MEMORY", "64Gi")
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, **yaml.safe_load(text)}
    validate.validate(pod, "1.31", strict=True)


def test_a_hostile_container_name_stays_a_name() -> None:
    node = replace(SHARING, names=names_of("llm-0", containers=('x"\nhostPID: true\n- "',)))
    held = pod_task(1, "llm-0", gpus="GPU-0", qos="burstable", container='x"\nhostPID: true\n- "')
    (found,) = of(last(lambda at: node.sample(held, at=at)), "not_exclusive")
    (pod,) = documents(found)
    assert list(pod["spec"]) == ["containers"] and len(pod["spec"]["containers"]) == 1


@pytest.mark.parametrize("code", list(CASES))
def test_no_prose_stands_in_a_code_box(code: str) -> None:
    """Each form has something to type; comments only say where."""
    for finding in of(last(CASES[code].fires), code):
        for form in finding.remedy.split("\n\n") if finding.remedy else ():
            typed = [line for line in form.split("\n") if not line.startswith("#")]
            assert typed, form
            assert not any(line.endswith(".") for line in typed if not line.endswith("...")), form
        assert finding.remedy or finding.remedy_note or finding.level == "info"
