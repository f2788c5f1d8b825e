"""Workload: its ranks one by one, how they drifted, and beside them what its users notice."""

from collections.abc import Mapping

from grafana_foundation_sdk.builders import dashboard as build
from grafana_foundation_sdk.builders import prometheus

from .house import (
    GREEN,
    KEEP,
    LOCALITY,
    RANK,
    RED,
    REMOTE_STEPS,
    UIDS,
    Piece,
    annotation,
    dashboard,
    filled,
    link,
    target,
    variable,
)
from .panels import lines, timeline
from .tables import Column, rows

IN = 'cluster=~"$cluster",namespace=~"$namespace"'
RATE = "$__rate_interval"
MINE = f'numa:rank:workload{{{IN},workload=~"$workload"}}'
"""The ranks of the workload; 1 each."""
PODS = f"on (cluster,namespace,pod) group by (cluster,namespace,pod) ({MINE})"
TO_NODE = link("This machine", f"/d/{UIDS['node']}?var-node=${{__data.fields.node}}&{KEEP}")

# Histograms and counters of the servers, by the names that they export. Triton's and TGI's are not in seconds or of
# tokens everywhere: the factor makes them so.
TTFT: Mapping[str, tuple[str, float]] = {
    "vLLM": ("vllm:time_to_first_token_seconds_bucket", 1),
    "SGLang": ("sglang:time_to_first_token_seconds_bucket", 1),
    "TensorRT-LLM": ("trtllm_time_to_first_token_seconds_bucket", 1),
    "Triton": ("nv_inference_first_response_histogram_ms_bucket", 0.001),
}
ITL: Mapping[str, tuple[str, float]] = {
    "vLLM": ("vllm:inter_token_latency_seconds_bucket", 1),
    "vLLM (older)": ("vllm:time_per_output_token_seconds_bucket", 1),
    "SGLang": ("sglang:inter_token_latency_seconds_bucket", 1),
    "TensorRT-LLM": ("trtllm_time_per_output_token_seconds_bucket", 1),
    "TGI": ("tgi_request_mean_time_per_token_duration_bucket", 1),
}
TOKENS: Mapping[str, tuple[str, float]] = {
    "vLLM": ("vllm:generation_tokens_total", 1),
    "SGLang": ("sglang:generation_tokens_total", 1),
    "TGI": ("tgi_request_generated_tokens_sum", 1),
}


def workload() -> build.Dashboard:
    made = dashboard(
        "workload",
        "NUMA / Workload",
        "The ranks of a workload: GPU, home, CPUs, pages, error bound, drift; the server's own latency beside them.",
    )
    made = (
        made.with_variable(
            variable(
                "namespace",
                "Namespace",
                'numa:rank:workload{cluster=~"$cluster"}',
                "Kubernetes namespace; host workloads have none and are under All.",
            )
        )
        .with_variable(
            variable("workload", "Workload", f"numa:rank:workload{{{IN}}}", "Owner of the pods, or the host's unit.")
        )
        .annotation(annotation(IN))
    )
    pieces = (
        *_ranks(),
        build.Row("Drift"),
        *_drift(),
        build.Row("Where it is"),
        *_where(),
        build.Row("What its users notice"),
        *_server(),
    )
    return filled(made, pieces)


def of(expr: str, also: str = "") -> str:
    """An expression over ranks, narrowed to the workload's. ``expr`` keeps the labels of a rank."""
    keys = f"{RANK},{also}" if also else RANK
    return f"max by ({keys}) ({expr} and on ({RANK}) {MINE})"


def _ranks() -> list[Piece]:
    def ratio(dimension: str) -> str:
        return of(f'numa:rank:misalignment_ratio{{dimension="{dimension}",{IN}}}')

    masks = f"sum without (locality) (numa_rank_allowed_cpus{{{IN}}})"
    home = f'sum without (locality) (numa_rank_allowed_cpus{{locality=~"local|socket",{IN}}})'
    return [
        rows(
            "Ranks",
            "A rank is the processes that hold the same GPUs. Remote: on another socket than its home. The bound is "
            "the 95 % half-width of the remote share of memory; 0 where all pages were read.",
            [
                Column(
                    "Home",
                    of(f"numa_rank_home_info{{{IN}}}", "numa_node,socket"),
                    labels=["numa_node", "socket"],
                    hidden=True,
                ),
                Column("CPUs in mask", of(masks)),
                Column("of them on its socket", of(home)),
                Column("CPU time remote", ratio("cpu_time"), unit="percentunit", thresholds=REMOTE_STEPS),
                Column("Memory remote", ratio("memory"), unit="percentunit", thresholds=REMOTE_STEPS),
                Column("± bound", of(f"numa_rank_mapped_error_ratio{{{IN}}}"), unit="percentunit"),
                Column("Host buffers remote", ratio("host_buffers"), unit="percentunit", thresholds=REMOTE_STEPS),
                Column("Remote bytes", of(f"numa:rank_remote:bytes{{{IN}}}"), unit="bytes"),
                Column("Started", f"1000 * {of(f'numa_rank_start_time_seconds{{{IN}}}')}", unit="dateTimeFromNow"),
            ],
            keys=["namespace", "pod", "unit", "container", "node", "uuid"],
            links={"node": TO_NODE},
            sort="Memory remote",
        )
    ]


def _drift() -> list[Piece]:
    names = "{{pod}}{{unit}} {{uuid}}"
    return [
        lines(
            "Remote share of memory",
            "By rank, less its error bound: what is remote for certain.",
            "percentunit",
            target(f'numa:rank_remote:ratio{{dimension="memory",{IN},workload=~"$workload"}}', names),
            top=1,
        ),
        lines(
            "Remote share of CPU time",
            "By rank, less what moved between two looks. An idle rank has none.",
            "percentunit",
            target(f'numa:rank_remote:ratio{{dimension="cpu_time",{IN},workload=~"$workload"}}', names),
            top=1,
        ),
        lines(
            "Share of bad ranks, and its baseline",
            "The page comes when the share leaves the baseline, which stands still meanwhile.",
            "percentunit",
            target(f'numa:workload_remote:share{{{IN},workload=~"$workload"}}', "{{workload}} {{dimension}}"),
            target(
                f'numa:workload_remote:baseline{{{IN},workload=~"$workload"}}',
                "{{workload}} {{dimension}} baseline",
                ref="B",
            ),
            top=1,
        ),
        timeline(
            "Verdicts",
            "What the exporter judged, rank by rank; a gap was not judged.",
            target(of(f"numa_rank_misaligned{{{IN}}}", "dimension"), f"{names} {{{{dimension}}}}"),
            {0: ("with the grain", GREEN), 1: ("against the grain", RED)},
        ),
    ]


def _where() -> list[Piece]:
    mine = f"and on ({RANK}) {MINE}"
    return [
        lines(
            "Memory by locality",
            "Mapped by its ranks, files left out; a shared page counts once for each process.",
            "bytes",
            target(
                f'sum by (locality) (numa_rank_mapped_bytes{{backing!="file",uuid!="",{IN}}} {mine})', "{{locality}}"
            ),
            stacked=True,
            colors=LOCALITY,
            span=8,
        ),
        lines(
            "CPU time by locality",
            "Cores that its ranks keep busy.",
            "short",
            target(
                f'sum by (locality) (rate(numa_rank_cpu_seconds_total{{uuid!="",{IN}}}[{RATE}]) {mine})', "{{locality}}"
            ),
            stacked=True,
            colors=LOCALITY,
            span=8,
        ),
        lines(
            "Threads that ran, by locality",
            "Of the last look, by the CPU each ran on.",
            "short",
            target(f'sum by (locality) (numa_rank_threads{{uuid!="",{IN}}} {mine})', "{{locality}}"),
            stacked=True,
            colors=LOCALITY,
            span=8,
        ),
        lines(
            "Memory by backing and NUMA node",
            "shmem_anon and driver are the pinned buffers that GPUs copy from.",
            "bytes",
            target(
                f'sum by (backing,numa_node) (numa_rank_mapped_bytes{{backing!="file",uuid!="",{IN}}} {mine})',
                "{{backing}} node {{numa_node}}",
            ),
            stacked=True,
        ),
        lines(
            "Memory charged to its containers",
            "What the cgroup is billed, each page once. Not to be added to what is mapped.",
            "bytes",
            target(
                "sum by (backing,numa_node) (max by (cluster,node,namespace,pod,container,unit,backing,numa_node) "
                f"(numa_workload_charged_bytes{{{IN}}}) and on (cluster,node,namespace,pod,container,unit) {MINE})",
                "{{backing}} node {{numa_node}}",
            ),
            stacked=True,
        ),
    ]


def _server() -> list[Piece]:
    def quantile(share: float, servers: Mapping[str, tuple[str, float]]) -> list[prometheus.Dataquery]:
        found = []
        for place, (server, (metric, factor)) in enumerate(servers.items()):
            summed = f"sum by (cluster,namespace,pod,le) (rate({metric}{{{IN}}}[{RATE}]))"
            scaled = f"{factor:g} * " if factor != 1 else ""
            expr = f"{scaled}(histogram_quantile({share:g}, {summed}) and {PODS})"
            found.append(target(expr, f"{{{{pod}}}} {server}", ref=Column.ref(place)))
        return found

    tokens = [
        target(
            f"sum by (cluster,namespace,pod) (rate({metric}{{{IN}}}[{RATE}])) and {PODS}",
            f"{{{{pod}}}} {server}",
            ref=Column.ref(place),
        )
        for place, (server, (metric, _)) in enumerate(TOKENS.items())
    ]
    note = "Of the same pods, from the server's own metrics, where they are scraped with the labels namespace and pod."
    return [
        lines("Time to first token, p99", note, "s", *quantile(0.99, TTFT), span=8),
        lines("Inter-token latency, p99", note, "s", *quantile(0.99, ITL), span=8),
        lines("Tokens generated a second", note, "short", *tokens, span=8),
    ]
