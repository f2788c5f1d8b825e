"""Metrics of others that rules and dashboards join with, by the names that those export, and a made-up past of them."""

from collections.abc import Iterator, Mapping, Sequence

STEP = 60.0
BUCKETS = ("0.05", "0.2", "1", "5", "+Inf")

KUBERNETES: Mapping[str, tuple[str, ...]] = {
    "kube_pod_owner": ("namespace", "pod", "owner_kind", "owner_name", "owner_is_controller"),
    "kube_node_spec_unschedulable": ("node",),
    "kube_node_status_allocatable": ("node", "resource"),
    "kubelet_admission_rejections_total": ("node", "reason"),
    "kubelet_topology_manager_admission_errors_total": ("node",),
}
"""kube-state-metrics (docs/metrics), the kubelet (pkg/kubelet/metrics/metrics.go)."""

HISTOGRAMS = (
    "vllm:time_to_first_token_seconds",
    "vllm:inter_token_latency_seconds",
    "vllm:time_per_output_token_seconds",
    "sglang:time_to_first_token_seconds",
    "sglang:inter_token_latency_seconds",
    "trtllm_time_to_first_token_seconds",
    "trtllm_time_per_output_token_seconds",
    "nv_inference_first_response_histogram_ms",
    "tgi_request_mean_time_per_token_duration",
    "tgi_request_generated_tokens",
)
"""Of inference servers, with the labels namespace and pod that a scrape adds."""
COUNTERS = ("vllm:generation_tokens_total", "sglang:generation_tokens_total")

NAMES = frozenset(KUBERNETES) | {
    *COUNTERS,
    *(f"{name}_{part}" for name in HISTOGRAMS for part in ("bucket", "sum", "count")),
    "ALERTS",
    "up",
}
"""Every foreign metric that rules and dashboards may name."""


def history(begin: float, end: float, *, pods: Sequence[str], node: str) -> str:
    """OpenMetrics of all of them, a sample a minute."""
    lines: list[str] = []
    moment = begin
    while moment <= end:
        lines += (f"{series} {value:g} {moment:.3f}" for series, value in _samples(moment - begin, pods, node))
        moment += STEP
    return "\n".join([*lines, "# EOF", ""])


def _samples(age: float, pods: Sequence[str], node: str) -> Iterator[tuple[str, float]]:
    yield f'kube_node_spec_unschedulable{{node="{node}"}}', 0
    yield f'kube_node_status_allocatable{{node="{node}",resource="nvidia_com_gpu"}}', 5
    rejected = f'kubelet_admission_rejections_total{{node="{node}",reason="TopologyAffinityError"}}'
    yield rejected, age // 3600
    yield f'kubelet_topology_manager_admission_errors_total{{node="{node}"}}', age // 3600
    for pod in pods:
        where = f'namespace="inference",pod="{pod}"'
        yield _owner(where, pod), 1
        for counter in COUNTERS:
            yield f"{counter}{{{where}}}", 40 * age
        for name in HISTOGRAMS:
            for place, bound in enumerate(BUCKETS):
                yield f'{name}_bucket{{{where},le="{bound}"}}', age * (place + 1)
            yield f"{name}_sum{{{where}}}", age * 2
            yield f"{name}_count{{{where}}}", age * len(BUCKETS)


def _owner(where: str, pod: str) -> str:
    kind = "StatefulSet" if pod.endswith("-0") else "ReplicaSet"
    owner = pod.rpartition("-")[0]
    return f'kube_pod_owner{{{where},owner_kind="{kind}",owner_name="{owner}",owner_is_controller="true"}}'
