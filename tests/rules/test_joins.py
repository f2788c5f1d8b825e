"""Every query of docs/joins.md runs against synthetic series and gives what the text says."""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from rule_test import REPOSITORY, Samples, Series, counting, promtool_test, series, steps

JOINS = dict(
    re.findall(r"<!-- join: (\S+) -->\n```promql\n(.*?)```", (REPOSITORY / "docs" / "joins.md").read_text(), re.DOTALL)
)
MINUTES = 120
NODE = {"cluster": "c", "node": "n1"}
OLD, NEW = {"instance": "old:10062"}, {"instance": "new:10062"}
POD_A = {"namespace": "llm", "pod": "chat-0"}
POD_B = {"namespace": "llm", "pod": "embed-0"}
VLLM = {"container": "vllm"}
GPU = {"uuid": "GPU-1"}
DCGM = {"UUID": "GPU-1", "instance": "dcgm:9400", "namespace": "gpu-operator"}
KSM = {"instance": "ksm:8080"}
STATEFUL_SET = {"owner_kind": "StatefulSet", "owner_is_controller": "true"}


def shown(value: float) -> str:
    return steps((MINUTES, value))


def twice(metric: str, *labels: dict[str, str], value: float = 1, **more: str) -> Series:
    """The same series from two exporter pods of one machine, as in a rollout."""
    return {series(metric, NODE, *labels, pod_of, more): shown(value) for pod_of in (OLD, NEW)}


def histogram(pod: dict[str, str], model: str, fast: float, slow: float) -> Series:
    """Requests per second below 0.1 s, and between that and 1 s."""
    name = "vllm:time_to_first_token_seconds_bucket"
    key = {"instance": f"{pod['pod']}:8000", "model_name": model} | pod
    return {
        series(name, key, le="0.1"): counting((MINUTES, fast / 60)),
        series(name, key, le="1"): counting((MINUTES, (fast + slow) / 60)),
        series(name, key, le="+Inf"): counting((MINUTES, (fast + slow) / 60)),
    }


def in_group(pod: str, group: str) -> str:
    """A pod's LeaderWorkerSet labels as kube-state-metrics shows them."""
    prefix = "label_leaderworkerset_sigs_k8s_io"
    return series(
        "kube_pod_labels", KSM, namespace="llm", pod=pod, **{f"{prefix}_name": "big", f"{prefix}_group_index": group}
    )


def misplaced(pod: dict[str, str], value: int, dimension: str = "memory") -> Series:
    return twice("numa_rank_misaligned", pod, VLLM, GPU, value=value, dimension=dimension)


def ratio(pod: dict[str, str], value: float) -> Series:
    return twice("numa_rank_misalignment_ratio", pod, VLLM, GPU, value=value, dimension="memory")


def holds(pod: dict[str, str], **more: str) -> Series:
    return twice("numa_gpu_workload_info", pod, VLLM, GPU, role="main", evidence="nvml", rank="GPU-1", **more)


@dataclass(frozen=True, slots=True, kw_only=True)
class Join:
    """Series of both sides and the join's whole result."""

    given: Series
    gives: dict[str, float]


TESTED = {
    "owner": Join(
        given=ratio(POD_A, 0.3) | {series("kube_pod_owner", KSM, POD_A, STATEFUL_SET, owner_name="chat"): shown(1)},
        gives={series("", POD_A, GPU, workload="chat"): 0.3},
    ),
    "team": Join(
        given=misplaced(POD_A, 1) | misplaced(POD_B, 0)
        | {series("kube_pod_labels", KSM, POD_A, label_team="search", uid="u"): shown(1)}
        | {series("kube_pod_labels", {"instance": "ksm-2"}, POD_A, label_team="search", uid="u"): shown(1)},
        gives={series("", POD_A, GPU, label_team="search"): 1},
    ),
    "an-hour-ago": Join(
        given={  # A became remote, B always was; A's exporter pod was replaced in between
            series("numa_rank_misalignment_ratio", NODE, OLD, POD_A, VLLM, GPU, dimension="memory"):
                steps((70, 0.05), (50, None)),
            series("numa_rank_misalignment_ratio", NODE, NEW, POD_A, VLLM, GPU, dimension="memory"):
                steps((70, None), (50, 0.4)),
        } | ratio(POD_B, 0.4),
        gives={series("", NODE, POD_A, VLLM, GPU): 0.4},
    ),
    "ttft-of-misplaced": Join(
        given=misplaced(POD_A, 1) | misplaced(POD_B, 0)
        | histogram(POD_A, "m", fast=0, slow=10) | histogram(POD_B, "m", fast=10, slow=0),
        gives={series("", POD_A): 0.991},
    ),
    "ttft-ratio": Join(
        given=misplaced(POD_A, 1) | misplaced(POD_B, 0)
        | histogram(POD_A, "m", fast=0, slow=10) | histogram(POD_B, "m", fast=10, slow=0),
        gives={series("", model_name="m"): 0.991 / 0.099},
    ),
    "leader-worker": Join(
        given=misplaced(POD_A | {"pod": "big-0-1"}, 1)  # the worker of group 0; all of group 1 is well placed
        | {in_group(pod, pod.split("-")[1]): shown(1) for pod in ("big-0", "big-0-1", "big-1", "big-1-1")}
        | {
            series(f"vllm:time_to_first_token_seconds_{part}", namespace="llm", pod=leader, model_name="m"):
                counting((MINUTES, rate))
            for leader in ("big-0", "big-1")
            for part, rate in (("sum", 0.5), ("count", 0.25))
        },
        gives={series("", namespace="llm", set="big", group="0"): 2},
    ),
    "dcgm-utilisation": Join(
        given=ratio(POD_A, 0.5) | ratio(POD_B, 0.25)  # time-slicing: two pods on the GPU, one number for both
        | {series("DCGM_FI_DEV_GPU_UTIL", DCGM, GPU_I_ID=i): shown(80) for i in ("1", "2")},
        gives={series("", POD_A, GPU): 0.4, series("", POD_B, GPU): 0.2},
    ),
    "dcgm-pcie": Join(
        given=misplaced(POD_A, 1, "host_buffers") | {series("DCGM_FI_PROF_PCIE_RX_BYTES", DCGM): shown(5e9)}
        | {series("DCGM_FI_PROF_PCIE_RX_BYTES", DCGM | {"UUID": "GPU-2"}): shown(9e9)},
        gives={series("", GPU): 5e9},
    ),
    "dcgm-mig": Join(
        given=holds(POD_A, gpu_instance_id="1", mig_uuid="MIG-a") | holds(POD_B, gpu_instance_id="2", mig_uuid="MIG-b")
        | {series("DCGM_FI_PROF_GR_ENGINE_ACTIVE", DCGM, GPU_I_ID="1"): shown(0.7)}
        | {series("DCGM_FI_PROF_GR_ENGINE_ACTIVE", DCGM, GPU_I_ID="2"): shown(0.1)},
        gives={
            series("", POD_A, VLLM, GPU, gpu_instance_id="1"): 0.7,
            series("", POD_B, VLLM, GPU, gpu_instance_id="2"): 0.1,
        },
    ),
    "shared-gpu": Join(
        given=holds(POD_A) | holds(POD_B) | {series("DCGM_FI_DEV_GPU_UTIL", DCGM): shown(80)}
        | twice("numa_gpu_workload_info", POD_A, VLLM, uuid="GPU-2", role="main")
        | {series("DCGM_FI_DEV_GPU_UTIL", DCGM | {"UUID": "GPU-2"}): shown(50)},
        gives={series("", GPU): 80},
    ),
    "pci-address": Join(
        given=twice("numa_gpu_info", GPU, pci_bus_id="00000000:8D:00.0")
        | {series("DCGM_FI_DEV_PCIE_REPLAY_COUNTER", DCGM, pci_bus_id="00000000:8D:00.0"): shown(3)},
        gives={series("", GPU, node="n1", pci_bus_id="00000000:8D:00.0"): 3},
    ),
    "cadvisor-cpu": Join(
        given={
            series("numa_rank_cpu_seconds_total", NODE, pod_of, POD_A, VLLM, GPU, numa_node=node, locality=where):
                counting((MINUTES, cores))
            for pod_of in (OLD, NEW)
            for node, where, cores in (("0", "local", 2), ("1", "remote", 1))
        } | {series("container_cpu_usage_seconds_total", POD_A, VLLM, id="/kubepods/x"): counting((MINUTES, 4))},
        gives={series("", POD_A, VLLM): 0.75},
    ),
    "cadvisor-throttled": Join(
        given=misplaced(POD_A, 1, "cpu_time") | misplaced(POD_B, 1, "cpu_time")
        | {series("container_cpu_cfs_throttled_periods_total", POD_A, VLLM): counting((MINUTES, 0.1))}
        | {series("container_cpu_cfs_throttled_periods_total", POD_B, VLLM): counting((MINUTES, 0))},
        gives={series("", POD_A, VLLM): 1},
    ),
    "charged-of-limit": Join(
        given=twice("numa_workload_charged_bytes", POD_A, VLLM, value=30, numa_node="0", backing="anon")
        | twice("numa_workload_charged_bytes", POD_A, VLLM, value=10, numa_node="0", backing="file")
        | twice("numa_workload_charged_bytes", POD_A, VLLM, value=20, numa_node="1", backing="anon")
        | {series("kube_pod_container_resource_limits", KSM, POD_A, VLLM, resource="memory", unit="byte"): shown(100)},
        gives={series("", POD_A, VLLM, numa_node="0"): 0.4, series("", POD_A, VLLM, numa_node="1"): 0.2},
    ),
    "not-guaranteed": Join(
        given=holds(POD_A) | holds(POD_B)
        | {series("kube_pod_status_qos_class", KSM, POD_A, qos_class="Guaranteed"): shown(1)}
        | {series("kube_pod_status_qos_class", KSM, POD_B, qos_class="Guaranteed"): shown(0)}
        | {series("kube_pod_status_qos_class", KSM, POD_B, qos_class="Burstable"): shown(1)},
        gives={series("", POD_B): 1},
    ),
    "admission": Join(
        given={
            series("kubelet_admission_rejections_total", node="n1", reason="TopologyAffinityError"): f"0+1x{MINUTES}",
            series("kubelet_admission_rejections_total", node="n2", reason="TopologyAffinityError"): f"1x{MINUTES}",
            series("kubelet_admission_rejections_total", node="n3", reason="OutOfcpu"): f"0+1x{MINUTES}",
        },
        gives={series("", node="n1"): 30},
    ),
    "stranded-and-pending": Join(
        given=twice("numa_gpus_stranded", value=4, size="4") | twice("numa_gpus_stranded", value=8, size="8")
        | {series("scheduler_pending_pods", queue="unschedulable"): shown(2)},
        gives={"{}": 4},
    ),
    "coverage": Join(
        given=twice("numa_exporter_build_info", version="1")
        | {
            series("kube_node_status_allocatable", KSM, node=node, resource="nvidia_com_gpu"): shown(8)
            for node in ("n1", "n2")
        },
        gives={series("", node="n2"): 8},
    ),
}  # fmt: skip

NEAREST = 2**-20


def test_every_query_of_the_document_is_tested() -> None:
    document = (REPOSITORY / "docs" / "joins.md").read_text()
    assert document.count("```promql") == len(JOINS), "a query without its `<!-- join: NAME -->`"
    assert TESTED.keys() == JOINS.keys()


@pytest.mark.parametrize("name", TESTED)
def test_join(name: str, promtool: str, tmp_path: Path) -> None:
    join = TESTED[name]
    # Releases differ in the last digits of a quantile; a power of two rounds without a rest.
    values = {labels: round(value / NEAREST) * NEAREST for labels, value in join.gives.items()}
    result = Samples(expr=f"round({JOINS[name]}, {NEAREST})", minute=MINUTES - 1, values=values)
    promtool_test(promtool, tmp_path, join.given, samples=[result], rules=("drift",))
