"""The Kubelet table and the document's section, from a node with grants."""

import json
from collections.abc import Mapping
from dataclasses import replace

from prometheus_client.parser import text_string_to_metric_families

from numa_exporter.metrics import TABLE
from numa_exporter.metrics.exposition import families, text
from numa_exporter.metrics.row import View
from numa_exporter.model.document import document
from numa_exporter.model.names import PodName
from numa_exporter.model.report import Memory, Report
from numa_exporter.model.sample import Sample
from numa_exporter.model.thresholds import Settings
from tests.builders import GIB, placed, two_socket
from tests.kubernetes.machines import Node, answer, names_of, pod_cgroup, pod_task, uid

Series = Mapping[tuple[tuple[str, str], ...], float]
BUSY = (
    Node(two_socket())
    .granting("llm-0", gpus=("GPU-0", "GPU-1"), cpus="0-3,16")
    .granting("idle-0", gpus=("GPU-4",), cpus="20-21")
    .granting("web-0", cpus="24-25")
)


def report(sample: Sample) -> Report:
    return Report(
        placement=placed(sample),
        verdicts={},
        findings=(),
        health={},
        memory=Memory(),
        settings=Settings(),
        exporter="test",
    )


def busy() -> Report:
    rank = pod_task(1, "llm-0", gpus={"GPU-0": 40 * GIB})
    return report(BUSY.sample(rank, cgroups=[pod_cgroup("llm-0", "0-3,16")]))


def series(of: Report, name: str) -> Series:
    page = text(families(TABLE, View(report=of))).decode()
    return {
        tuple(sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(page)
        for sample in family.samples
        if sample.name == name
    }


def labels(**given: str) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(given.items()))


def test_policies() -> None:
    assert series(busy(), "numa_kubelet_policy_info") == {
        labels(
            cpu_manager="static",
            memory_manager="none",
            topology_manager="single-numa-node",
            topology_scope="container",
        ): 1
    }


def test_granted_gpus() -> None:
    found = series(busy(), "numa_gpu_granted")
    assert {dict(key)["uuid"]: value for key, value in found.items()} == {
        f"GPU-{index}": int(index in (0, 1, 4)) for index in range(8)
    }


def test_usable_and_stranded() -> None:
    found = series(busy(), "numa_gpus_usable")
    assert len(found) == 12
    assert found[labels(size="4", policy="any")] == 4
    assert found[labels(size="4", policy="single-numa-node")] == 0
    assert series(busy(), "numa_gpus_stranded")[labels(size="4")] == 4


def test_granted_cpus_of_those_that_hold_or_were_granted_a_gpu() -> None:
    def key(pod: str, node: str) -> tuple[tuple[str, str], ...]:
        return labels(namespace="prod", pod=pod, container="vllm", numa_node=node)

    assert series(busy(), "numa_workload_granted_cpus") == {
        key("llm-0", "0"): 4,
        key("llm-0", "1"): 1,
        key("idle-0", "1"): 2,
    }


def test_a_granted_gpu_without_a_process_is_shown_as_granted() -> None:
    found = series(busy(), "numa_gpu_workload_info")
    shown = {(dict(key)["pod"], dict(key)["uuid"], dict(key)["evidence"], dict(key)["role"]) for key in found}
    assert shown == {
        ("llm-0", "GPU-0", "nvml", "main"),
        ("llm-0", "GPU-1", "kubelet", "main"),
        ("idle-0", "GPU-4", "kubelet", "main"),
    }


def test_a_gpu_that_many_share_is_shown_once_for_each() -> None:
    node = Node(two_socket()).with_kubelet(pods=(answer("a", "GPU-0::0", "GPU-0::1"), answer("b", "GPU-0::2")))
    found = series(report(node.sample()), "numa_gpu_workload_info")
    assert sorted(dict(key)["pod"] for key in found) == ["a", "b"]


def test_two_pods_of_one_name_are_two_containers() -> None:
    """A pod of a StatefulSet that was deleted by force, and its successor: the kubelet keeps both promises a while."""
    both = PodName(namespace="prod", pod="llm-0")
    node = replace(
        Node(two_socket())
        .granting("llm-0", gpus=("GPU-0::0",), cpus="0-3")
        .granting("before", gpus=("GPU-0::1",), cpus="4-5"),
        names=replace(names_of("llm-0"), pods={uid("llm-0"): both, uid("before"): both}),
    )
    before, named = f"pod/{uid('before')}", {"namespace": "prod", "pod": "llm-0", "container": "vllm"}
    rank = pod_task(1, "llm-0", gpus="GPU-0")
    for found in (report(node.sample()), report(node.sample(rank, cgroups=[pod_cgroup("llm-0", "0-3")]))):
        cpus = series(found, "numa_workload_granted_cpus")
        assert sorted(cpus.values()) == [2, 4]
        assert len(series(found, "numa_gpu_workload_info")) == 2
    assert cpus == {
        labels(numa_node="0", **named): 4,
        labels(numa_node="0", container="vllm", unit=before): 2,
    }


def test_without_a_kubelet_there_are_no_series() -> None:
    silent = report(Node(two_socket()).sample(kubelet=None))
    for name in ("numa_gpu_granted", "numa_gpus_usable", "numa_gpus_stranded", "numa_kubelet_policy_info"):
        assert series(silent, name) == {}


def test_the_document_tells_the_same() -> None:
    section = json.loads(json.dumps(document(busy())))["kubelet"]
    assert section["policies"]["topology_manager"] == "single-numa-node"
    assert section["usable"]["single-numa-node"]["4"] == 0
    assert section["stranded"]["4"] == 4
    by_pod = {grant["pod"]: grant for grant in section["grants"]}
    assert by_pod["llm-0"]["cpus"] == "0-3,16"
    assert [gpu["uuid"] for gpu in by_pod["llm-0"]["gpus"]] == ["GPU-0", "GPU-1"]
    assert document(report(Node(two_socket()).sample(kubelet=None)))["kubelet"] is None
